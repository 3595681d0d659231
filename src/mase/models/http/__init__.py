"""Models behind a URL, all of them black boxes; the URL or a description says which protocol."""

import inspect
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mase.errors import DataError, OptionError, UnknownNameError
from mase.models.http.client import Client, Connection, ConnectionOptions
from mase.models.http.dialects import is_kserve
from mase.models.http.service import Service
from mase.models.limits import read_json
from mase.models.names import check_url, is_url
from mase.registry import unknown

if TYPE_CHECKING:
    from mase.models.language.server import CompletionServer

__all__ = ["PROTOCOLS", "open_description", "open_remote", "open_url"]

# The class of each protocol, by the name that a description has for it.
PROTOCOLS = {
    "text-embeddings-inference": "mase.models.http.dialects:TextEmbeddingsInference",
    "kserve": "mase.models.http.dialects:KServe",
    "json": "mase.models.http.dialects:JSONService",
    "completions": "mase.models.language.server:CompletionServer",
}

_CONNECTION = tuple(ConnectionOptions.__annotations__)


def open_url(url: str, **options: Any) -> "Service | CompletionServer":
    """Return the model at a URL, whose protocol is recognised by the URL or by what the server says at ``/info``.

    Parameters
    ----------
    url
        ``http://HOST/v2/models/NAME`` for the KServe v2 protocol, or the address of a text-embeddings-inference.
    **options
        Options of the class of the protocol.
    """
    return _opened(_recognised(url, options), url, options)


def open_remote(name_or_path: str | os.PathLike[str]) -> "Service | CompletionServer":
    """Return the model at a URL, or of a JSON file that describes how to ask it; see `open_url`, `open_description`."""
    name = os.fspath(name_or_path)
    return open_url(name) if is_url(name) else open_description(Path(name))


def open_description(path: Path) -> "Service | CompletionServer":
    """Return the model that a JSON file describes; a language model for the protocol "completions".

    The file holds an object with the `url`, the `protocol` (one of `PROTOCOLS`; recognised by the URL if it is left
    out), and options of the class of the protocol.
    """
    description = read_json(path)
    if not isinstance(description, dict) or not isinstance(description.get("url"), str):
        raise DataError(f"{str(path)!r} does not describe a model, expected an object with its 'url'")
    protocol, url = description.pop("protocol", None), description.pop("url")
    if protocol is None:
        return open_url(url, **description)
    if not isinstance(protocol, str) or protocol not in PROTOCOLS:
        raise unknown(f"protocol in {str(path)!r}:", str(protocol), list(PROTOCOLS))
    return _opened(protocol, url, description)


def _recognised(url: str, options: Mapping[str, Any]) -> str:
    if is_kserve(url):
        return "kserve"
    if check_url(url).endswith(("/v1", "/completions")):
        raise UnknownNameError(
            f"{url} is the address of a language model, expected a classifier; explain its answers with "
            "mase.models.CompletionServer(url, model), on the command with mase cite --server URL, or classify by a "
            "function of texts that asks it"
        )
    connection = {name: value for name, value in options.items() if name in _CONNECTION}
    client = Client(check_url(url).removesuffix("/predict"), Connection(**connection))
    info = client.get("/info")
    if isinstance(info, Mapping) and "model_id" in info:
        return "text-embeddings-inference"
    raise UnknownNameError(
        f"the protocol of {client.url} is not known, expected /v2/models/NAME in the URL (KServe v2), or a "
        "text-embeddings-inference; describe any other service in a JSON file and pass that as the model, as in "
        '{"protocol": "json", "url": "https://...", "request": {"texts": "$inputs"}}'
    )


def _opened(protocol: str, url: str, options: Mapping[str, Any]) -> "Service | CompletionServer":
    module, _, name = PROTOCOLS[protocol].partition(":")
    kind = getattr(import_module(module), name)
    known = [name for name in inspect.signature(kind).parameters if name not in ("url", "base_url", "connection")]
    wrong = next((name for name in options if name not in (*known, *_CONNECTION)), None)
    if wrong is not None:
        expected = ", ".join(map(repr, (*known, *_CONNECTION)))
        raise OptionError(f"{wrong!r:.60} is not an option of {name}, expected {expected}")
    service: Service | CompletionServer = kind(url, **options)
    return service
