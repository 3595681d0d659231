"""Bind to an address, say which, and serve until Ctrl-C."""

import socket
import time
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from mase.errors import OptionError
from mase.platforms import reuses_addresses
from mase.serve.security import Gate, allowed_names, is_loopback

__all__ = ["Server", "address", "bind", "gate_of", "serve"]

# Seconds that answers under way have when the server ends.
_GRACE = 1
_CONNECTIONS = 256
_HEAD_S = 10.0


def bind(host: str, port: int | None, usual: int) -> socket.socket:
    """Return a socket that listens; without a port the usual one, or a free one if that is taken."""
    ports = (usual, 0) if port is None else (port,)
    for number, one in enumerate(ports, 1):
        try:
            return _listening(host, one)
        except (OSError, UnicodeError) as error:  # a name that no host can have
            if number == len(ports):
                reason = getattr(error, "strerror", None) or error
                raise OptionError(
                    f"the address {host}, port {one}, cannot be used ({reason}), expected one of "
                    "this machine and a free port"
                ) from error
    raise AssertionError


def _listening(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        if reuses_addresses():
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_CONNECTIONS)
    except OSError:
        found.close()
        raise
    return found


def gate_of(host: str, port: int) -> Gate:
    """Return the gate of a server that is bound to this address."""
    return Gate(allowed_names(host), port, any_address=not is_loopback(host))


def address(host: str, port: int, token: str) -> str:
    """Return the first address, with the token."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?token={token}"


def serve(app: ASGIApp, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C or SIGTERM."""
    Server(app).run(sockets=[listening])


class Server(uvicorn.Server):
    """A server of an application, which ends the application first, and closes connections that ask for nothing.

    In the order of uvicorn, requests under way are cut off, each with a traceback on standard error. And it waits
    without end for the first request, so that anyone who reaches the port could take all connections.

    Parameters
    ----------
    app
        The application.
    head_s
        Seconds that a client has to send the head of a request, from the connection or the former answer on.
    """

    def __init__(self, app: ASGIApp, head_s: float = _HEAD_S) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            timeout_graceful_shutdown=_GRACE,
            limit_concurrency=_CONNECTIONS,
        )
        super().__init__(config)
        self._head_s = head_s
        # When each connection was first seen waiting, with the request that it waited after.
        self._waiting: dict[tuple[Any, Any], float] = {}

    async def on_tick(self, counter: int) -> bool:
        """Close the connections whose client has had its time; uvicorn calls this ten times a second."""
        now = time.monotonic()
        connections: list[Any] = list(self.server_state.connections)
        idle = [(one, one.cycle) for one in connections if one.cycle is None or one.cycle.response_complete]
        self._waiting = {key: self._waiting.get(key, now) for key in idle}
        n_too_many = max(0, len(connections) - _CONNECTIONS // 2)  # anyone may open more; the oldest make room
        for number, ((connection, _), since) in enumerate(sorted(self._waiting.items(), key=lambda one: one[1])):
            if now - since > self._head_s or number < n_too_many:
                connection.transport.close()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the application, then the connections."""
        await self.lifespan.shutdown()
        await super().shutdown(sockets)
