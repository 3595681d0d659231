"""Whether a string is a path, a URL or a name on the hub."""

import os
import re
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from mase.errors import DataError, OptionError
from mase.files import without_password
from mase.models.limits import is_taken

# What the hub allows: an owner and a name, or a name alone.
_ON_HUB = re.compile(r"(?:\w[\w.-]*/)?\w[\w.-]*")
_FILES = (".json", ".onnx")


def check_local_path(name_or_path: str | os.PathLike[str]) -> None:
    """Check that something is at a path, before an error asks for packages or a download that would not help.

    A path is a `Path`, and what cannot be a name on the hub, such as ``"./model"``. What ends like a file is a path,
    unless nothing is there and a model of this name is in the local cache of the hub.
    """
    name = os.fspath(name_or_path)
    is_name = isinstance(name_or_path, str) and _ON_HUB.fullmatch(name) is not None
    ends_like_file = name.endswith(_FILES)
    if (is_name and not ends_like_file) or is_taken(name) or (is_name and is_cached(name)):
        return
    or_name = is_name and ends_like_file
    raise DataError(
        f"there is no file or folder {without_password(name)!r:.200}"
        f"{', nor a model of this name in the cache of the hub' * or_name}, "
        "expected the folder of a model, a .onnx file, a .json file that describes a service, or a name; correct the "
        f"path{f', or run: hf download {name}' * or_name}"
    )


def is_cached(name: str) -> bool:
    """Return whether the local cache of the Hugging Face hub has a model of this name."""
    if find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import constants

    return is_taken(os.path.join(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}"))  # noqa: PTH118


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


def is_remote(name_or_path: str | os.PathLike[str]) -> bool:
    """Return whether this is a model behind a URL: the URL itself, or a JSON file that describes how to ask it."""
    name = os.fspath(name_or_path)
    return (isinstance(name_or_path, str) and is_url(name)) or (name.endswith(".json") and is_file(name))


def is_file(name: str) -> bool:
    """Return whether there is a file of this name."""
    return exists(name) and Path(name).is_file()


def exists(name: str) -> bool:
    """Return whether the path exists; a string that is too long for a path does not."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False
