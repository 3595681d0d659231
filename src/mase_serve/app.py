"""The addresses of `mase serve`, its pages, and the server."""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar, cast

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from mase.attribution.json import dumps
from mase.document import Document
from mase.errors import (
    CapabilityError,
    EmptyTextError,
    InvalidTextError,
    LimitError,
    MaseError,
    OptionError,
    PluginError,
    QueueFullError,
    UnknownNameError,
    WorkerError,
)
from mase.links import LINKS, LINKS_WITHOUT_CLASSES
from mase.methods import METHODS
from mase.platforms import reuses_addresses
from mase.registry import Registry
from mase.render.html import PALETTES, answer_style, article, page, resource, style, templates
from mase.render.marks import model_name
from mase.units import UNITS
from mase_serve.explanations import Explanations, ServedModel, answer_of
from mase_serve.security import Gate, Guard, Limits, allowed_names, is_loopback
from mase_serve.worker import CITE, Cancelled, Content, Explain, Open, Predict, Regenerate, Settings, Without

_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page."""

    content: bytes
    media_type: str


def files() -> Mapping[str, File]:
    """Return the files of the page by name, with the style sheets and the scripts of articles."""
    sheet = style() + answer_style() + resource("mase.render", "palettes.css") + resource("mase.render", "trial.css")
    result = {"style.css": File(sheet.encode(), _TYPES[".css"])}
    for package in ("mase.render", "mase_serve"):
        for file in resources.files(package).joinpath("static").iterdir():
            media_type = _TYPES.get(file.name[file.name.rfind(".") :])
            if media_type is not None:
                result[file.name] = File(file.read_bytes(), media_type)
    return result


def workbench(choices: Mapping[str, Any]) -> str:
    """Return the page with these choices."""
    return templates("mase_serve").get_template("templates/workbench.html").render(choices=choices, palettes=PALETTES)


def choices(
    models: Iterable[Mapping[str, Any]],
    corpora: Iterable[Mapping[str, str]],
    limits: Limits,
    fields: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the choices as plain JSON types."""
    return {
        "models": list(_labelled(models)),
        "methods": list(_methods()),
        "units": list(UNITS.names),
        "links": list(LINKS.names),
        "answer_links": list(LINKS_WITHOUT_CLASSES["log-probabilities"]),
        "corpora": list(corpora),
        "limits": limits.to_dict(),
        "defaults": msgspec.structs.asdict(Settings()) | {"fields": list(fields)},
        "cite": msgspec.structs.asdict(CITE),
    }


def _labelled(models: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """Yield the models with a label: of a path the last part, which a select box shows, unless two have the same."""
    named = [(model, model_name(model["name"])) for model in models]
    n_named = Counter(label for _, label in named)
    for model, label in named:
        yield {**model, "label": label if n_named[label] == 1 else model["name"]}


def _methods() -> Iterable[dict[str, Any]]:
    for name in cast(Registry, METHODS).names:
        try:
            method = METHODS[name]
        except PluginError:  # a broken plug-in must not affect other methods
            continue
        yield {
            "name": name,
            "summary": method.summary,
            "needs_gradients": method.strategy.needs_gradients,
            "needs_embeddings": not method.space.binary,
            "n_samples": method.n_samples,
        }


# Seconds after which a line is sent to whoever follows, so that a lost connection is noticed.
_ALIVE = 15.0
_BODY_S = 10.0  # in which a request must arrive

_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (QueueFullError, 429),
    (LimitError, 413),
    (UnknownNameError, 404),
    (WorkerError, 503),
    (OptionError, 400),
    (CapabilityError, 400),
    (EmptyTextError, 400),
    (InvalidTextError, 400),
)

_CHANGED = ("label", "probability", "target_probability", "response", "expected_response", "expected_probability")
_STREAM = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
T = TypeVar("T")


class _Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    text: Content


class _Explanation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    text: Content
    target: str | None = None
    against: str | None = None
    settings: Settings = Settings()


class _Units(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    units: tuple[int, ...]
    response: str | None = None


def application(
    models: Sequence[Open],
    gate: Gate,
    *,
    limits: Limits | None = None,
    fields: Sequence[str] = (),
    corpora: Sequence[Mapping[str, str]] = (),
    routes: Sequence[BaseRoute] = (),
) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    models
        How to open each model. Their names differ.
    gate
        What a request must show.
    limits
        Limits of requests.
    fields
        Names of the fields of an input, for which the page has boxes at first; none for a plain text.
    corpora
        Name and address of each corpus.
    routes
        Further routes, of corpora.
    """
    corpora = [{**corpus, "href": f"/{gate.key}{corpus['href']}"} for corpus in corpora]
    server = _Server(models, limits or Limits(), fields, corpora)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with server.running():
            yield

    app = Starlette(
        routes=[
            Route("/", server.door),
            Route("/static/{name}", server.static),
            Route("/api/workbench", server.workbench),
            Route("/api/models", server.list_models),
            Route("/api/predictions", server.predict, methods=["POST"]),
            Route("/api/explanations", server.explain, methods=["POST"]),
            Route("/api/explanations/{id}", server.cancel, methods=["DELETE"]),
            Route("/api/explanations/{id}/events", server.events),
            Route("/api/explanations/{id}/without", server.without, methods=["POST"]),
            Route("/api/explanations/{id}/answer", server.regenerate, methods=["POST"]),
            Route("/api/explanations/{id}/article", server.article),
            Route("/api/explanations/{id}/page", server.download),
            Route("/api/explanations/{id}/json", server.line),
            *routes,
        ],
        exception_handlers={
            MaseError: _failed,
            HTTPException: _refused,
            ClientDisconnect: _unheard,
            Exception: _broken,
        },
        lifespan=lifespan,
    )
    return Guard(app, gate)  # outside of all that Starlette answers by itself


class _Server:
    """The answers to requests."""

    def __init__(
        self, models: Sequence[Open], limits: Limits, fields: Sequence[str], corpora: Sequence[Mapping[str, str]]
    ) -> None:
        self._open, self._limits, self._fields, self._corpora = models, limits, fields, corpora
        self._models: dict[str, ServedModel] = {}
        self._explanations = Explanations(limits)
        self._files = files()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the processes of the models during the block."""
        self._models = {message.model: ServedModel(message, self._limits) for message in self._open}
        tasks = [asyncio.create_task(model.run()) for model in self._models.values()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def door(self, _request: Request) -> Response:
        return HTMLResponse(self._files["door.html"].content)

    async def workbench(self, _request: Request) -> Response:
        return HTMLResponse(workbench(choices(self._described(), self._corpora, self._limits, self._fields)))

    async def static(self, request: Request) -> Response:
        result = self._files.get(request.path_params["name"])
        if result is None:
            raise HTTPException(404)
        return Response(result.content, media_type=result.media_type, headers={"Cache-Control": "no-cache"})

    async def list_models(self, _request: Request) -> Response:
        return JSONResponse({"models": self._described()})

    async def predict(self, request: Request) -> Response:
        asked = await self._read(request, _Prediction)
        model = self._model(asked.model, asked.text)
        answer = await _answer(request, model, Predict(asked.text))
        kind = "values" if answer.are_values else "probabilities"
        return JSONResponse({"labels": model.labels, kind: answer.numbers})

    async def explain(self, request: Request) -> Response:
        asked = await self._read(request, _Explanation)
        n, most = asked.settings.asked_samples, self._limits.n_samples
        if isinstance(n, int) and n > most:
            raise LimitError(f"n_samples is {n:,}, expected at most {most:,}")
        model = self._model(asked.model, asked.text)
        result = self._explanations.begin(model, Explain(asked.text, asked.target, asked.settings, asked.against))
        return JSONResponse({"id": result}, 202)

    async def cancel(self, request: Request) -> Response:
        await self._explanations.cancel(request.path_params["id"])
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        result = self._explanations[request.path_params["id"]]

        async def lines() -> AsyncIterator[bytes]:
            async for event in self._explanations.follow(result, _ALIVE):
                yield b": alive\n\n" if event is None else event.line

        return StreamingResponse(lines(), media_type="text/event-stream", headers=_STREAM)

    async def without(self, request: Request) -> Response:
        result = self._explanations[request.path_params["id"]]
        asked = await self._read(request, _Units)
        line = await asyncio.to_thread(lambda: dumps(result.attribution(asked.response)))
        answer = await _answer(request, result.model, Without(line, result.ask, asked.units))
        return JSONResponse({name: getattr(answer, name) for name in _CHANGED})

    async def regenerate(self, request: Request) -> Response:
        result = self._explanations[request.path_params["id"]]
        asked = await self._read(request, _Units)
        answer = await _answer(request, result.model, Regenerate(result.finished(), result.ask, asked.units))
        return JSONResponse({"text": answer.text})

    async def article(self, request: Request) -> Response:
        result = self._explanations[request.path_params["id"]]
        response = request.query_params.get("response")
        return HTMLResponse(await asyncio.to_thread(lambda: article(result.attribution(response))))

    async def download(self, request: Request) -> Response:
        result = self._explanations[request.path_params["id"]]
        response = request.query_params.get("response")
        content = await asyncio.to_thread(lambda: page([result.attribution(response)]))
        return HTMLResponse(content, headers={"Content-Disposition": 'attachment; filename="explanation.html"'})

    async def line(self, request: Request) -> Response:
        result = self._explanations[request.path_params["id"]]
        return Response(result.finished() + "\n", media_type="application/json")

    def _described(self) -> list[dict[str, Any]]:
        return [model.describe() for model in self._models.values()]

    def _model(self, name: str, text: Content) -> ServedModel:
        size = len(Document.of(text).text)
        if size > self._limits.text:
            raise LimitError(f"the text has {size:,} characters, expected at most {self._limits.text:,}")
        if name not in self._models:
            known = ", ".join(self._models) or "none"
            raise UnknownNameError(f"the server has no model {name!r:.200}, expected one of: {known}")
        return self._models[name]

    async def _read(self, request: Request, kind: type[T]) -> T:
        """Return the body of a request."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "the request has another content type, expected application/json")
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_S):
                async for part in request.stream():
                    body += part
                    if len(body) > self._limits.body:
                        raise LimitError(f"the request has more than {self._limits.body:,} bytes, expected fewer")
        except TimeoutError:
            raise HTTPException(408, f"the request did not arrive within {_BODY_S:g} seconds") from None
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, ValueError) as error:
            raise OptionError(f"the request is not understood: {error}") from error


async def _answer(request: Request, model: ServedModel, ask: Predict | Without | Regenerate) -> Any:
    """Return the answer of a model to a request that was read."""
    answer = await answer_of(model, ask, request.receive)  # once the body was read, it waits until they leave
    if isinstance(answer, Cancelled):
        raise ClientDisconnect
    return answer


def _failed(_request: Request, error: Exception) -> Response:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return _problem(status, type(error).__name__, str(error))


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not request.url.path.startswith("/api/"):
        return PlainTextResponse(f"mase: {error.detail}\n", error.status_code)
    return _problem(error.status_code, "HTTPError", error.detail)


def _unheard(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)


def _broken(_request: Request, error: Exception) -> Response:
    return _problem(500, type(error).__name__, "the server has failed; what happened is in its terminal")


def _problem(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"error": {"type": kind, "message": message}}, status)


# Seconds that answers under way have when the server ends.
_GRACE = 1
_CONNECTIONS = 256
_HEAD_S = 10.0


def bind(host: str, port: int | None, usual: int) -> socket.socket:
    """Return a socket that listens; without a port the usual one, or a free one if that is taken."""
    ports = (usual, 0) if port is None else (port,)
    for number, item in enumerate(ports, 1):
        try:
            return _listening(host, item)
        except (OSError, UnicodeError) as error:  # a name that no host can have
            if number == len(ports):
                reason = getattr(error, "strerror", None) or error
                raise OptionError(
                    f"the address {host}, port {item}, cannot be used ({reason}), expected one of "
                    "this machine and a free port"
                ) from error
    raise AssertionError


def _listening(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    result = socket.socket(family, kind, protocol)
    try:
        if reuses_addresses():
            result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        result.bind(address)
        result.listen(_CONNECTIONS)
    except OSError:
        result.close()
        raise
    return result


def gate_of(host: str, port: int) -> Gate:
    """Return the gate of a server that is bound to this address."""
    return Gate(allowed_names(host), port, any_address=not is_loopback(host))


def address(host: str, port: int, token: str) -> str:
    """Return the first address, with the token."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/?token={token}"


def run_server(app: ASGIApp, listening: socket.socket) -> None:
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
        idle = [(item, item.cycle) for item in connections if item.cycle is None or item.cycle.response_complete]
        self._waiting = {key: self._waiting.get(key, now) for key in idle}
        n_too_many = max(0, len(connections) - _CONNECTIONS // 2)  # anyone may open more; the oldest make room
        for number, ((connection, _), since) in enumerate(sorted(self._waiting.items(), key=lambda item: item[1])):
            if now - since > self._head_s or number < n_too_many:
                connection.transport.close()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the application, then the connections."""
        await self.lifespan.shutdown()
        await super().shutdown(sockets)
