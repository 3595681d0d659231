"""The program of the process of a model: it opens the model, and answers one request after another."""

import os
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, NoReturn

from mase.attribution import Attribution
from mase.document import valid_text
from mase.errors import MaseError, ModelError
from mase.io.json import dumps, loads
from mase.models import load
from mase.models.code_reference import is_code, open_code
from mase.models.language.generated import Generated
from mase.models.protocol import Model, ValueModel
from mase.models.runtime import configure
from mase.platforms import end_with_parent
from mase.processes import pipes
from mase.progress import Progress
from mase.render.html import article
from mase.rng import untouched
from mase.serve.answering import Answering
from mase.serve.explaining import Explaining
from mase.serve.messages import (
    Answer,
    Ask,
    Asked,
    Cancel,
    Cancelled,
    Changed,
    Explain,
    Explained,
    Failed,
    FromModel,
    Open,
    Predict,
    Predicted,
    Ready,
    Regenerate,
    Request,
    Round,
    Said,
    ToModel,
    Unable,
    decode,
    encode,
)

__all__ = ["Worker", "main"]

# Seconds in which the process may finish what it does after the server has closed the pipe.
_GRACE = 0.5
# Seconds between two messages about progress, and between two rounds that are shown: a reader sees no more.
PAUSE, ROUND_PAUSE = 0.1, 0.2


def main() -> None:
    """Open the model that the first message names, and answer the requests that follow."""
    end_with_parent()
    messages, answers = pipes()
    inbox: SimpleQueue[Open | Request] = SimpleQueue()
    cancelled: set[int] = set()
    Thread(target=_receive, args=(messages, inbox, cancelled), daemon=True).start()

    def answer(message: FromModel) -> None:
        answers.write(encode(message))
        answers.flush()

    try:
        model = _opened(inbox.get())
        if isinstance(model, Unable):
            answer(model)
            return
        answer(Ready(str(model.name), tuple(model.labels), tuple(model.references), isinstance(model, Generated)))
        worker = Worker(model, answer, cancelled)
        while True:
            request = inbox.get()
            assert isinstance(request, Request)
            worker.handle(request)
    except BrokenPipeError:  # the server has ended
        os._exit(1)


def _receive(messages: BinaryIO, inbox: "SimpleQueue[Open | Request]", cancelled: set[int]) -> NoReturn:
    """Pass messages on until the server closes the pipe, then end this process, whatever it does."""
    read = decode(ToModel)
    while True:
        length = int.from_bytes(messages.read(4), "big")
        if not length:
            time.sleep(_GRACE)
            os._exit(1)
        message = read(messages.read(length))
        if isinstance(message, Cancel):
            cancelled.add(message.number)
        else:
            inbox.put(message)


def _opened(message: Any) -> Model | Unable:
    try:
        configure(message.threads)
        if message.server is not None:
            from mase.models.language.completion_server import CompletionServer

            model: Model = Generated(CompletionServer(message.server, message.model))
        elif is_code(message.model):
            model = open_code(message.model)
        else:
            options = {"download": message.download, "device": message.device}
            model = load(message.model, **options, trust_remote_code=message.trust_remote_code)
        model.name, model.labels  # noqa: B018 (a function of texts is asked for them)
    except MaseError as error:
        return Unable(type(error).__name__, valid_text(str(error)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the code of the user may raise anything)
        return Unable(ModelError.__name__, f"the model cannot be opened: {_said(error)}")
    return model


class _Stopped(Exception):
    """The request was cancelled."""


class Worker:
    """Answers requests about one model.

    Parameters
    ----------
    model
        The model.
    answer
        Sends a message to the server.
    cancelled
        Numbers of the requests that were cancelled, to which another thread adds.
    """

    def __init__(self, model: Model, answer: Callable[[FromModel], None], cancelled: set[int]) -> None:
        self.model, self._answer, self._cancelled = model, answer, cancelled
        self._explaining = Answering(model) if isinstance(model, Generated) else Explaining(model)

    def handle(self, request: Request) -> None:
        """Answer a request. Whatever the model raises costs this answer only."""
        number = request.number
        try:
            self._check(number)
            last = self._answered(number, request.ask)
        except _Stopped:
            last = Cancelled(number)
        except MaseError as error:
            last = Failed(number, type(error).__name__, valid_text(str(error)))
        except MemoryError:
            last = Failed(number, ModelError.__name__, "memory ran out; use a shorter text, or fewer samples")
        except (Exception, SystemExit) as error:  # noqa: BLE001 (the code of the user may raise anything)
            last = Failed(number, ModelError.__name__, _said(error))
        self._cancelled.discard(number)
        self._answer(last)

    def _answered(self, number: int, ask: Ask) -> FromModel:
        if isinstance(ask, Predict):
            with untouched():
                numbers = tuple(self.model.predict([ask.text])[0].tolist())
            return Predicted(number, numbers, isinstance(self.model, ValueModel) and self.model.returns_values)
        if isinstance(ask, Explain):
            found = self._explaining.explain(ask, self._listener(number), lambda text: self._answer(Said(number, text)))
            return Explained(number, article(found), dumps(found))
        before, units = loads(ask.attribution), ask.units
        assert isinstance(before, Attribution)
        if isinstance(ask, Regenerate):
            return Answer(number, self._explaining.regenerate(ask.explained, before, units))
        changed = self._explaining.without(ask.explained, before, units)
        return Changed(
            number,
            changed.label,
            changed.probability,
            changed.target_probability,
            changed.response,
            before.expected_without(units),
            before.expected_probability_without(units),
        )

    def _listener(self, number: int) -> Callable[[Progress], None]:
        told = shown = time.monotonic()

        def listen(progress: Progress) -> None:
            nonlocal told, shown
            self._check(number)
            now = time.monotonic()
            if now - shown >= ROUND_PAUSE and (found := progress.attribution) is not None:
                self._answer(Asked(number, progress.n_asked, progress.n_samples))
                self._answer(Round(number, article(found)))
                shown = told = time.monotonic()
            elif now - told >= PAUSE:
                self._answer(Asked(number, progress.n_asked, progress.n_samples))
                told = now

        return listen

    def _check(self, number: int) -> None:
        if number in self._cancelled:
            raise _Stopped


def _said(error: BaseException) -> str:
    return valid_text(" ".join(f"{type(error).__name__}: {error}".split())[:2000])
