"""Who may ask, and the limits of one page.

Browsers send cookies to every port of a host, so that a server of another user could read them. The token is therefore
kept where browsers separate ports (`localStorage`), and sent in a header.
"""

import ipaddress
import secrets
import socket
from dataclasses import asdict, dataclass, field
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types mase mase-page"
)

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_SAFE = ("GET", "HEAD")
_LOCAL = ("localhost", "127.0.0.1", "::1")


def allowed_names(host: str) -> frozenset[str]:
    """Return the names by which a server that binds to `host` may be called.

    For the loopback address: its own names. For any other address: that address or name, and this machine's names.
    """
    if is_loopback(host):
        return frozenset((*_LOCAL, host.lower()))
    return frozenset(name.lower() for name in (*_LOCAL, host, socket.gethostname(), socket.getfqdn()))


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a server that binds to `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True)
class Gate:
    """What a request must show.

    Attributes
    ----------
    names
        Names by which the server may be called.
    port
        The port of the server.
    any_address
        Whether it may also be called by any IP address. An address, unlike a name, cannot be made to lead elsewhere.
    token
        What the printed address has, and then the header of every request.
    key
        The beginning of the addresses of corpora, whose pages are links, which cannot have a header.
    visited
        Is set when the first request with the token has come.
    """

    names: frozenset[str]
    port: int
    any_address: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    visited: Event = field(default_factory=Event, repr=False)

    def refusal(self, method: str, path: str, headers: Headers) -> str | None:
        """Return why a request cannot come from a page of this server; None if it may."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return "the request is for another host; open the address that `mase serve` has printed"
        origin = headers.get("origin")
        if origin != f"http://{hosts[0]}" and (origin is not None or method not in _SAFE):
            return "the request comes from another page, expected one of this server"
        site = headers.get("sec-fetch-site", "same-origin")
        is_link = method in _SAFE and (site == "none" or path == "/")  # any page may lead to the first address
        if site != "same-origin" and not is_link:
            return "the request comes from another site, expected a page of this server"
        return None

    def _is_own(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname, parts.port
        except ValueError:
            return False
        if name is None or parts.netloc != host or "@" in host or (port or 80) != self.port:
            return False
        return name in self.names or (self.any_address and _is_address(name))

    def knows(self, headers: Headers) -> bool:
        """Return whether a request has the token."""
        known = _same(headers.get("authorization", ""), f"Bearer {self.token}")
        if known:
            self.visited.set()
        return known

    def is_corpus(self, path: str) -> bool:
        """Return whether an address is that of a corpus, with the key."""
        first, _, rest = path.removeprefix("/").partition("/")
        return _same(first, self.key) and rest.startswith("corpora/")


class Guard:
    """The middleware that asks the gate about every request and puts the headers on every response."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app, self.gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        reason = self.gate.refusal(method, path, headers)
        if reason is None and self.gate.is_corpus(path):
            scope = {**scope, "root_path": f"/{self.gate.key}"}
        elif reason is None and not (self.gate.knows(headers) or _is_open(path)):
            reason = "the request has no token; open the address that `mase serve` has printed"
        await (self.app if reason is None else _refused(path, reason))(scope, receive, guarded)


def _is_open(path: str) -> bool:
    """Return whether anyone may read an address: the empty page and its files, which are the same everywhere."""
    return path == "/" or path.startswith("/static/")


def _refused(path: str, reason: str) -> Response:
    if path.startswith("/api/"):
        return JSONResponse({"error": {"type": "ForbiddenError", "message": reason}}, 403)
    return PlainTextResponse(f"mase: {reason}\n", 403)


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), expected.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server.

    Attributes
    ----------
    text
        Characters of a text.
    n_samples
        Samples of an explanation.
    queue
        Requests that may wait for one model.
    seconds
        Time of one request, after which the process of the model is ended.
    body
        Bytes of a request.
    results
        Explanations that are kept; the oldest ones are forgotten.
    kept
        Bytes of all explanations that are kept.
    grace
        Seconds that a model has to answer the batch at which it is cancelled; then its process is ended.
    alone
        Seconds after which an explanation that its last follower has left is cancelled. A page that has lost its
        connection needs a few to connect again.
    """

    text: int = 20_000
    n_samples: int = 20_000
    queue: int = 100
    seconds: float = 600.0
    body: int = 1 << 20
    results: int = 200
    kept: int = 1 << 27
    grace: float = 3.0
    alone: float = 10.0

    def to_dict(self) -> dict[str, Any]:
        """Return the limits by name."""
        return asdict(self)
