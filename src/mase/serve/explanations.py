"""The explanations that a server makes and keeps, and the events that pages follow."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mase.attribution import Attribution
from mase.corpus.engines.protocol import as_error
from mase.errors import OptionError, UnknownNameError
from mase.io.json import loads
from mase.serve.copies import command, command_of_answer, python, python_of_answer
from mase.serve.jobs import Job
from mase.serve.limits import Limits
from mase.serve.messages import Explain, Explained, Failed, Predict, Regenerate, Without
from mase.serve.models import ServedModel

__all__ = ["Event", "Explanation", "Explanations", "answer_of"]

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
            for number, event in sorted(self._newest.values(), key=lambda one: one[0]):
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
        found = loads(self.finished())
        assert isinstance(found, Attribution)
        return found if response is None else found.of(response)

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
        found = Explanation(model, ask)
        found.job = model.submit(ask, found.tell)
        self._start(found.finish())
        self._forget()
        name = secrets.token_urlsafe(12)
        self._by_id[name] = found
        return name

    def __getitem__(self, name: str) -> Explanation:
        found = self._by_id.get(name)
        if found is None:
            raise UnknownNameError("there is no such explanation, or it was forgotten; explain the text again")
        return found

    async def cancel(self, name: str) -> None:
        """Cancel an explanation; one that is over stays as it is."""
        await self._end(self[name])

    async def follow(self, found: Explanation, alive: float) -> AsyncIterator[Event | None]:
        """Yield the events of an explanation, which is cancelled some time after the last of its followers has left."""
        found.n_followers += 1
        if found.ending is not None:
            found.ending.cancel()
        try:
            async for event in found.events(alive):
                yield event
        finally:
            found.n_followers -= 1
            if not found.n_followers:
                loop = asyncio.get_running_loop()
                found.ending = loop.call_later(self._limits.alone, lambda: self._start(self._end(found)))

    async def _end(self, found: Explanation) -> None:
        if found.job is not None and not found.job.answer.done():
            await found.model.cancel(found.job)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget(self) -> None:
        """Forget the oldest explanations that are over."""
        over = [name for name, found in self._by_id.items() if found.is_over]
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
