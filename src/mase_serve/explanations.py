"""Models with their queues, and explanations with their events."""

import asyncio
import csv
import json
import secrets
import shlex
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from typing import Any, Literal, TypeVar

import msgspec

from mase.attribution.attribution import Attribution
from mase.attribution.json import loads
from mase.citing import sources
from mase.errors import (
    MaseError,
    ModelError,
    OptionError,
    QueueFullError,
    TextTimeoutError,
    UnknownNameError,
    WorkerError,
)
from mase.models.user_code import is_code
from mase_corpora.engines import as_error
from mase_serve.security import Limits
from mase_serve.worker import (
    CITE,
    Ask,
    Cancel,
    Explain,
    Explained,
    Failed,
    Job,
    ModelProcess,
    Open,
    Predict,
    Ready,
    Regenerate,
    Request,
    Settings,
    Unable,
    Without,
    explainer_options,
    prompt_of,
)

# A model whose process ends so often by itself is not started again.
_MOST_IDLE_ENDS = 3
State = Literal["loading", "ready", "failed"]


class ServedModel:
    """A model in a process of its own, with a queue.

    Predictions are before explanations, and what came first is before what came later. A request at which the process
    ends is answered with an error. The process is then started again, and the requests behind it are kept.

    Parameters
    ----------
    open_message
        How to open the model.
    limits
        The limits of the server.

    Attributes
    ----------
    opened_by
        How it is opened.
    state, message
        Whether the model can be asked, and why not.
    called
        What results name it, which of a function is the name of the function; "" until it is ready for the first time.
    labels, references
        Names of its classes and of the references that it supports; empty until it is ready for the first time.
    answers
        Whether it is a language model; False until it is ready for the first time.
    """

    def __init__(self, open_message: Open, limits: Limits) -> None:
        self.name, self.opened_by, self._limits = open_message.model, open_message, limits
        self.state: State = "loading"
        self.message = ""
        self.called = ""
        self.labels: tuple[str, ...] = ()
        self.references: tuple[str, ...] = ()
        self.answers = False
        self._numbers = count(1)
        self._quick: deque[Job] = deque()
        self._slow: deque[Job] = deque()
        self._current: Job | None = None
        self._wake = asyncio.Event()
        self._process: ModelProcess | None = None
        self._ended = False
        self._idle_ends = 0

    def describe(self) -> dict[str, Any]:
        """Return what a page shows of the model."""
        return {
            "name": self.name,
            "called": self.called,
            "state": self.state,
            "message": self.message,
            "labels": list(self.labels),
            "references": list(self.references),
            "answers": self.answers,
        }

    def submit(self, ask: Ask, tell: Callable[[str, dict[str, Any]], None] | None = None) -> Job:
        """Put a request into the queue."""
        if self.state == "failed":
            raise ModelError(f"the model {self.name!r} cannot be used: {self.message}")
        if len(self._quick) + len(self._slow) >= self._limits.queue:
            raise QueueFullError(
                f"{self._limits.queue} requests wait for {self.name!r}, expected fewer; wait until some are answered"
            )
        number = next(self._numbers)
        job = Job(number, ask) if tell is None else Job(number, ask, tell)
        (self._quick if job.is_quick else self._slow).append(job)
        self._tell_places()
        self._wake.set()
        return job

    def withdraw(self, job: Job) -> None:
        """End a request that waits. The one that the model answers goes on."""
        if job is self._current:
            return
        for queue in (self._quick, self._slow):
            with suppress(ValueError):
                queue.remove(job)
        job.cancel()
        self._tell_places()

    async def cancel(self, job: Job) -> None:
        """End a request: at once if it waits, else after a batch, or with the process if the model goes on."""
        if job is not self._current:
            self.withdraw(job)
            return
        process = self._process
        assert process is not None
        await process.send(Cancel(job.number))
        await asyncio.wait([job.answer], timeout=self._limits.grace)
        if not job.answer.done():
            job.cancel()
            self._ended = True
            process.kill()

    async def run(self) -> None:
        """Open the model and answer requests, until this is cancelled; then requests end with an error."""
        try:
            while self.state != "failed":
                try:
                    await self._once()
                except MaseError as error:
                    self._fail(str(error))
        finally:
            self._fail(self.message or "the server was ended")

    async def _once(self) -> None:
        """Open the model in a new process, and answer requests until the process ends."""
        self.state, self._ended = "loading", False
        self._process = process = await ModelProcess.start()
        reading = None
        try:
            await process.send(self.opened_by)
            first = await process.receive()
            if isinstance(first, Unable):
                raise ModelError(first.message)
            if not isinstance(first, Ready):
                raise WorkerError(f"the process that opened the model {await process.end()}")
            self.called, self.labels = first.name, first.labels
            self.references, self.answers = first.references, first.answers
            self.state = "ready"
            reading = asyncio.create_task(self._read(process))
            while not self._ended:
                await self._next(process)
        finally:
            if reading is not None:
                reading.cancel()
            process.kill()
            await process.end()

    async def _read(self, process: ModelProcess) -> None:
        """Pass the messages of the process on, until it ends."""
        while (message := await process.receive()) is not None:
            job = self._current
            if job is not None and getattr(message, "number", None) == job.number:
                self._idle_ends = 0
                job.take(message)
        self._ended = True
        how = await process.end()
        if self._current is not None:
            self._current.fail(WorkerError(f"the process of the model {how} while it answered; it is started again"))
            self._idle_ends = 0
        else:
            self._idle_ends += 1
        self._wake.set()

    async def _next(self, process: ModelProcess) -> None:
        """Answer the next request, or wait until there is one or the process ends."""
        queue = self._quick or self._slow
        if not queue:
            self._wake.clear()
            await self._wake.wait()
            if self._idle_ends >= _MOST_IDLE_ENDS:
                raise WorkerError(f"its process ended {self._idle_ends} times while nobody asked it")
            return
        self._current = job = queue.popleft()
        job.wait_behind(0)
        self._tell_places()
        try:
            await process.send(Request(job.number, job.ask))
            async with asyncio.timeout(self._limits.seconds):
                await asyncio.shield(job.answer)
        except TimeoutError:
            limit = self._limits.seconds
            job.fail(TextTimeoutError(f"the model took longer than {limit:g} s, and its process was ended"))
            self._ended = True
        except MaseError as error:  # no message can hold the request
            job.fail(error)
        except asyncio.CancelledError:
            queue.appendleft(job)  # to end with those behind it
            raise
        finally:
            self._current = None

    def _tell_places(self) -> None:
        """Tell each explanation that waits how many requests are before it."""
        before = (self._current is not None) + len(self._quick)
        for place, job in enumerate(self._slow):
            job.wait_behind(before + place)

    def _fail(self, message: str) -> None:
        self.state, self.message = "failed", message
        for job in (*self._quick, *self._slow):
            job.fail(ModelError(f"the model {self.name!r} cannot be used: {message}"))
        self._quick.clear()
        self._slow.clear()


_EXPLAIN = Settings()
S = TypeVar("S", bound=msgspec.Struct)


def python(model: Open, ask: Explain) -> str:
    """Return Python code that makes an explanation."""
    given = _arguments(explainer_options(_given(ask.settings, _EXPLAIN)))
    classes = _arguments({"target": ask.target, "against": ask.against})
    before, opened = _opened(model)
    lines = [*before, f"explainer = mase.Explainer({opened}{given})", f"found = explainer({ask.text!r}{classes})"]
    return "\n".join([*lines, "print(found)", ""])


def python_of_answer(model: Open, ask: Explain) -> str:
    """Return Python code that finds the sources of an answer of a language model."""
    context, query, answer = prompt_of(ask.text)
    asked = {"context": _shortest(context), "query": query or None, "answer": answer, "against": ask.against}
    before, opened = _opened(model)
    given = _arguments(asked | _given(ask.settings, CITE))
    return "\n".join([*before, f"found = mase.cite({opened}{given})", "print(found)", ""])


def command(model: Open, ask: Explain) -> str:
    """Return a command for a POSIX shell that makes an explanation."""
    classes = {"target": ask.target, "against": ask.against}
    options = {"model": model.model} | _loading(model) | _typed(ask.settings) | classes
    text = ask.text
    if not isinstance(text, str):
        options |= {"fields": tuple(text)}
        text = json.dumps(text, ensure_ascii=False)
    return shlex.join(["mase", "explain", *_options(options), "--", text])


def _typed(settings: Settings) -> dict[str, Any]:
    """Return the settings that are given as options of `mase explain`, where a reference is a setting of the method."""
    options = explainer_options(_given(settings, _EXPLAIN))
    reference = options.pop("reference", None)
    return options if reference is None else options | {"method": f"{settings.method}+reference={reference}"}


def command_of_answer(model: Open, ask: Explain) -> str:
    """Return commands for a POSIX shell that find the sources of an answer; the texts become files in a new folder."""
    context, query, answer = prompt_of(ask.text)
    opened = {"server": model.server, "model": model.model} | _loading(model)
    options = opened | {"query": query or None, "answer": answer, "against": ask.against} | _given(ask.settings, CITE)
    files = [f'"$texts"/{shlex.quote(name)}' for name in _file_names(context)]
    written = [f"printf %s {shlex.quote(text)} > {file}" for file, text in zip(files, context.values(), strict=True)]
    cite = f"{shlex.join(['mase', 'cite', *_options(options)])} --context {' '.join(files)}"
    return " &&\n".join(["texts=$(mktemp -d)", *written, cite])


def _file_names(names: Iterable[str]) -> list[str]:
    """Return a name of a file for each name, without slashes: the name itself, or one that no other has."""
    names = list(names)
    taken, result = set(names), []
    for name in names:
        file = plain = name.replace("/", "_")
        numbers = count(2)
        while file != name and file in taken:
            file = f"{plain}_{next(numbers)}"
        taken.add(file)
        result.append(file)
    return result


def _opened(model: Open) -> tuple[list[str], str]:
    """Return the lines before a model is used, and the expression of the model."""
    options = _loading(model)
    threads = options.pop("threads", None)
    imports, setup = ["import mase"], [] if threads is None else [f"configure({threads})"]
    if model.server is not None:
        opened = f"mase.models.CompletionServer({model.server!r}, {model.model!r})"
    elif is_code(model.model):
        imports.append("from mase.models.user_code import open_code")
        opened = f"open_code({model.model!r})"
    else:
        opened = f"mase.models.load({model.model!r}{_arguments(options)})" if options else repr(model.model)
    imports += ["from mase.models.locks import configure"] if setup else []
    return [*imports, "", *setup], opened


def _loading(model: Open) -> dict[str, Any]:
    """Return the options with which a model is loaded that are not the defaults. Code and servers take threads only."""
    given = _given(model, Open(model.model, server=model.server))
    loaded = model.server is None and not is_code(model.model)
    return given if loaded else {name: value for name, value in given.items() if name == "threads"}


def _shortest(context: dict[str, str]) -> str | list[str] | dict[str, str]:
    """Return texts in the shortest form in which they have these names: one text, a list, or a mapping."""
    texts = list(context.values())
    forms: list[str | list[str]] = [texts, *texts[:1]]
    return next((form for form in forms if sources(form) == sources(context)), context)


def _arguments(given: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)


def _options(given: dict[str, Any]) -> list[str]:
    """Return options in the form with an equals sign, which is right for values that begin with a dash, too."""
    written = {f"--{name.replace('_', '-')}": value for name, value in given.items() if value is not None}
    return [name if value is True else f"{name}={_written(value)}" for name, value in written.items()]


def _written(value: Any) -> str:
    """Return a value as an option of the command takes it: names are separated by commas."""
    if isinstance(value, dict):
        value = tuple(f"{name}={json.dumps(content)}" for name, content in value.items())
    if not isinstance(value, tuple):
        return str(value)
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def _given(settings: S, defaults: S) -> dict[str, Any]:
    """Return the settings that are not the defaults."""
    return {name: value for name, value in msgspec.structs.asdict(settings).items() if value != getattr(defaults, name)}


_LAST = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an explanation: its name and its data as JSON."""

    name: str
    data: bytes

    @property
    def line(self) -> bytes:
        """The event as a server sends it (server-sent events)."""
        return b"event: %s\ndata: %s\n\n" % (self.name.encode(), self.data)


@dataclass(slots=True, weakref_slot=True)
class Explanation:
    """One explanation, and the newest event of each name, with its number.

    Whoever follows sees all newest events in their order, at first those from before. Events that are replaced before
    they are sent are not missed.
    """

    model: ServedModel
    ask: Explain
    job: Job | None = None
    line: str | None = None
    n_followers: int = 0
    ending: asyncio.TimerHandle | None = None
    _newest: dict[str, tuple[int, Event]] = field(default_factory=dict)
    _n_events: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Whether there is a last event."""
        return any(name in self._newest for name in _LAST)

    @property
    def size(self) -> int:
        """Bytes of its result and its events."""
        return len(self.line or "") + sum(len(event.data) for _, event in self._newest.values())

    def tell(self, name: str, data: Any) -> None:
        """Add an event."""
        if self.is_over:
            return
        if name in _LAST:
            self._newest.clear()
        self._n_events += 1
        self._newest[name] = (self._n_events, Event(name, msgspec.json.encode(data)))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def events(self, alive: float) -> AsyncIterator[Event | None]:
        """Yield the newest events, until one is the last, and None whenever there is none for `alive` seconds."""
        seen = 0
        while True:
            changed = self._changed
            for number, event in sorted(self._newest.values(), key=lambda item: item[0]):
                if number > seen:
                    seen = number
                    yield event
            if changed.is_set():  # while a reader took its time
                continue
            if self.is_over:
                return
            try:
                await asyncio.wait_for(changed.wait(), alive)
            except TimeoutError:
                yield None

    async def finish(self) -> None:
        """Wait for the answer of the model, and tell it."""
        assert self.job is not None
        answer = await self.job.answer
        self.job = None  # which holds this explanation, so that a forgotten one would stay in memory
        if isinstance(answer, Explained):
            self.line = answer.attribution
            attribution = msgspec.Raw(answer.attribution.encode())
            self.tell("done", {"html": answer.html, "attribution": attribution} | self._copies())
        elif isinstance(answer, Failed):
            self.tell("failed", {"type": answer.error, "message": answer.message})
        else:
            self.tell("cancelled", {})

    def _copies(self) -> dict[str, str]:
        model, ask = self.model.opened_by, self.ask
        if self.model.answers:
            return {"python": python_of_answer(model, ask), "command": command_of_answer(model, ask)}
        return {"python": python(model, ask), "command": command(model, ask)}

    def attribution(self, response: str | None = None) -> Attribution:
        """Return the attribution, with a response first."""
        result = loads(self.finished())
        assert isinstance(result, Attribution)
        return result if response is None else result.of(response)

    def finished(self) -> str:
        """Return the attribution as a line of JSON."""
        if self.line is None:
            raise OptionError("the explanation has no result, expected one that is finished; wait for its last event")
        return self.line


class Explanations:
    """The explanations of a server by their ids, which nobody can guess."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_id: dict[str, Explanation] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, model: ServedModel, ask: Explain) -> str:
        """Put an explanation into the queue of its model and return its id."""
        result = Explanation(model, ask)
        result.job = model.submit(ask, result.tell)
        self._start(result.finish())
        self._forget()
        name = secrets.token_urlsafe(12)
        self._by_id[name] = result
        return name

    def __getitem__(self, name: str) -> Explanation:
        result = self._by_id.get(name)
        if result is None:
            raise UnknownNameError("there is no such explanation, or it was forgotten; explain the text again")
        return result

    async def cancel(self, name: str) -> None:
        """Cancel an explanation; one that is over stays as it is."""
        await self._end(self[name])

    async def follow(self, result: Explanation, alive: float) -> AsyncIterator[Event | None]:
        """Yield the events of an explanation, which is cancelled some time after the last of its followers has left."""
        result.n_followers += 1
        if result.ending is not None:
            result.ending.cancel()
        try:
            async for event in result.events(alive):
                yield event
        finally:
            result.n_followers -= 1
            if not result.n_followers:
                loop = asyncio.get_running_loop()
                result.ending = loop.call_later(self._limits.alone, lambda: self._start(self._end(result)))

    async def _end(self, result: Explanation) -> None:
        if result.job is not None and not result.job.answer.done():
            await result.model.cancel(result.job)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget(self) -> None:
        """Forget the oldest explanations that are over."""
        over = [name for name, result in self._by_id.items() if result.is_over]
        room = self._limits.results - 1 - (len(self._by_id) - len(over))
        kept = 0
        for n, name in enumerate(reversed(over)):
            kept += self._by_id[name].size
            if n >= room or kept > self._limits.kept:
                del self._by_id[name]


async def answer_of(
    model: ServedModel, ask: Predict | Without | Regenerate, leaving: Callable[[], Awaitable[Any]]
) -> Any:
    """Return the answer of a model to a request that nobody follows, `Cancelled` if nobody waits for it any more.

    Parameters
    ----------
    model, ask
        The model and the request.
    leaving
        Returns when whoever asked has gone. A request that waits then is not answered.
    """
    job = model.submit(ask)
    left = asyncio.ensure_future(leaving())
    left.add_done_callback(lambda _: model.withdraw(job))
    try:
        answer = await job.answer
    finally:
        left.cancel()
    if isinstance(answer, Failed):
        raise as_error(answer.error, answer.message)
    return answer
