"""The program of the process of a model: it opens the model, and answers one request after another."""

import os
import time
from collections.abc import Callable
from functools import lru_cache
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, NoReturn

import msgspec

from mase.attribution import Attribution
from mase.errors import MaseError, ModelError
from mase.explainer import Explainer
from mase.io.json import dumps, loads
from mase.models import load
from mase.models.code_reference import is_code, open_code
from mase.models.protocol import Model, ValueModel
from mase.models.runtime import configure
from mase.platforms import end_with_parent
from mase.processes import pipes
from mase.progress import Progress
from mase.render.html import article
from mase.rng import untouched
from mase.serve.messages import (
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
    Request,
    Round,
    Settings,
    ToModel,
    Unable,
    Without,
    decode,
    encode,
)
from mase.target import listed

__all__ = ["Worker", "main"]

# Seconds in which the process may finish what it does after the server has closed the pipe.
_GRACE = 0.5
# Seconds between two messages about progress, and between two rounds that are shown: a reader sees no more.
_PAUSE, _ROUND_PAUSE = 0.1, 0.2
_CACHED = 16
_SETTINGS = msgspec.json.Decoder(Settings)


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
        answer(Ready(tuple(model.labels), tuple(model.references)))
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
        if is_code(message.model):
            model = open_code(message.model)
        else:
            options = {"download": message.download, "device": message.device}
            model = load(message.model, **options, trust_remote_code=message.trust_remote_code)
        model.labels  # noqa: B018 (a function of texts is asked for them)
    except MaseError as error:
        return Unable(type(error).__name__, str(error))
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
        self._explainer = lru_cache(_CACHED)(lambda key: Explainer(model, **_SETTINGS.decode(key).options))

    def handle(self, request: Request) -> None:
        """Answer a request. Whatever the model raises costs this answer only."""
        number = request.number
        try:
            self._check(number)
            last = self._answered(number, request.ask)
        except _Stopped:
            last = Cancelled(number)
        except MaseError as error:
            last = Failed(number, type(error).__name__, str(error))
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
            explainer, target = self._explained(ask.settings), listed(ask.target, self.model.labels)
            found = explainer.follow(ask.text, self._listener(number), target=target, against=ask.against)
            return Explained(number, article(found), dumps(found))
        return self._without(number, ask)

    def _without(self, number: int, ask: Without) -> Changed:
        found = loads(ask.attribution)
        assert isinstance(found, Attribution)
        changed = self._explained(ask.settings).predict_without(found, ask.units)
        return Changed(
            number,
            changed.label,
            changed.probability,
            changed.target_probability,
            changed.response,
            found.expected_without(ask.units),
            found.expected_probability_without(ask.units),
        )

    def _explained(self, settings: Settings) -> Explainer:
        explainer: Explainer = self._explainer(msgspec.json.encode(settings))
        return explainer

    def _listener(self, number: int) -> Callable[[Progress], None]:
        told = shown = time.monotonic()

        def listen(progress: Progress) -> None:
            nonlocal told, shown
            self._check(number)
            now = time.monotonic()
            if now - shown >= _ROUND_PAUSE and (found := progress.attribution) is not None:
                self._answer(Round(number, article(found)))
                shown = told = time.monotonic()
            elif now - told >= _PAUSE:
                self._answer(Asked(number, progress.n_asked, progress.n_samples))
                told = now

        return listen

    def _check(self, number: int) -> None:
        if number in self._cancelled:
            raise _Stopped


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:2000]
