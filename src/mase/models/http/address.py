"""Check the URL of a model. A URL may hold no credential, because it is part of names, results and messages."""

from urllib.parse import urlsplit

from mase.errors import OptionError

__all__ = ["check_url", "is_url"]

_SCHEMES = ("http://", "https://")


def is_url(text: str) -> bool:
    """Return whether a string is meant as a URL: whether it begins with ``http://`` or ``https://``.

    Examples
    --------
    >>> is_url("https://models.example"), is_url("owner/name")
    (True, False)
    """
    return text.lower().startswith(_SCHEMES)


def check_url(url: str) -> str:
    """Return the URL without slashes at its end.

    Raises
    ------
    OptionError
        If it is not an absolute http or https URL, or has a user name, a password, a query or a fragment. The message
        quotes none of these.

    Examples
    --------
    >>> check_url("http://localhost:8080/")
    'http://localhost:8080'
    """
    if not isinstance(url, str) or not is_url(url):
        got = "does not begin with http:// or https://" if isinstance(url, str) else f"is of type {type(url).__name__}"
        raise OptionError(f"the URL of the model {got}, expected for example 'http://localhost:8000'")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not url.isprintable() or " " in url:
        raise OptionError("the URL of the model cannot be read, expected one as in https://models.example:8080/path")
    place = f"{parts.scheme}://{host}{'' if port is None else f':{port}'}"
    if "@" in parts.netloc:
        raise OptionError(
            f"the URL of the model at {place} has a user name or a password, expected none: put the credential into an "
            "environment variable and name that with token_env or headers_env"
        )
    if "?" in url or "#" in url:
        raise OptionError(
            f"the URL of the model at {place} has a query or a fragment, expected neither, because they may hold a "
            "credential: pass credentials with token_env or headers_env, and other parameters of a JSONService with "
            "params"
        )
    return url.rstrip("/")
