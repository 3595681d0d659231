"""The models of a server: each has a process that answers one request at a time, and is started again if it ends."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, Literal

from mase.errors import MaseError, ModelError, QueueFullError, TextTimeoutError, WorkerError
from mase.serve.jobs import Job
from mase.serve.limits import Limits
from mase.serve.messages import Ask, Cancel, Open, Ready, Request, Unable
from mase.serve.process import ModelProcess

__all__ = ["ServedModel", "State"]

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
