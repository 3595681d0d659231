"""Who may ask the server: pages of its own, in a browser that was given the token."""

import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["POLICY", "Gate", "Guard", "allowed_names", "is_loopback"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types mase"
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
# The answer to the first address. It leads on by itself, because a browser that follows a link of another site to a
# redirect does not send the cookie on, which is SameSite=Strict.
_WELCOME = (
    '<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content="0; url=/">'
    '<meta name=color-scheme content="light dark"><title>mase</title><p><a href="/">Open the workbench</a>\n'
)
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
        What the first address and then the cookie have.
    """

    names: frozenset[str]
    port: int
    any_address: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    _once: set[str] = field(default_factory=set, repr=False)

    @property
    def cookie(self) -> str:
        """Name of the cookie. Browsers share cookies between the ports of a host."""
        return f"mase-{self.port}"

    def refusal(self, method: str, headers: Headers) -> str | None:
        """Return why a request cannot come from a page of this server; None if it may."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return "the request is for another host; open the address that `mase serve` has printed"
        origin = headers.get("origin")
        if origin != f"http://{hosts[0]}" and (origin is not None or method not in _SAFE):
            return "the request comes from another page, expected one of this server"
        site = headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin" and not (site == "none" and method in _SAFE):
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

    def once(self) -> str:
        """Return a further token for the first address, which is good for one visit.

        Other users of the machine can read the address on the command line of a browser that is started with it.
        """
        token = secrets.token_urlsafe(24)
        self._once.add(token)
        return token

    def opens(self, token: str | None) -> bool:
        """Return whether the first address may have this token."""
        if token in self._once:
            self._once.discard(token)
            return True
        return self.knows(token)

    def knows(self, token: str | None) -> bool:
        """Return whether this is the token."""
        return token is not None and secrets.compare_digest(token.encode(errors="replace"), self.token.encode())

    def has_cookie(self, headers: Headers) -> bool:
        """Return whether one of the cookies is the server's."""
        return any(self.knows(value) for value in _cookies(headers.getlist("cookie"), self.cookie))


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

        response = self._answer(scope)
        await (self.app if response is None else response)(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the answer to a request that does not reach the application."""
        headers, method = Headers(scope=scope), scope["method"]
        token = _token(scope["query_string"])
        is_first = method == "GET" and scope["path"] == "/" and self.gate.opens(token)
        # Any page may lead to the first address, if it knows the token.
        reason = self.gate.refusal(method, _without_site(headers) if is_first else headers)
        if reason is not None:
            return _refused(scope["path"], reason)
        if is_first:
            response = HTMLResponse(_WELCOME)
            response.set_cookie(self.gate.cookie, self.gate.token, httponly=True, samesite="strict", path="/")
            return response
        if not self.gate.has_cookie(headers):
            return _refused(scope["path"], "this browser has no cookie; open the address that `mase serve` has printed")
        return None


def _refused(path: str, reason: str) -> Response:
    if path.startswith("/api/"):
        return JSONResponse({"error": {"type": "ForbiddenError", "message": reason}}, 403)
    return PlainTextResponse(f"mase: {reason}\n", 403)


def _token(query: bytes) -> str | None:
    found = parse_qs(query.decode("ascii", "replace")).get("token", [])
    return found[0] if len(found) == 1 else None


def _cookies(lines: Iterable[str], name: str) -> list[str]:
    """Return the values of the cookies of a name, whatever others are beside it."""
    pairs = (pair.strip().partition("=") for line in lines for pair in line.split(";"))
    return [value for found, _, value in pairs if found == name]


def _without_site(headers: Headers) -> Headers:
    return Headers(raw=[(name, value) for name, value in headers.raw if name != b"sec-fetch-site"])


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
