"""The process of a model, from both sides, and the messages between them."""

import asyncio
import os
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from functools import lru_cache
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, NoReturn, Self

import msgspec

from mase.attribution.attribution import Attribution
from mase.attribution.evidence import Changed as ChangedPrediction
from mase.attribution.json import dumps, loads
from mase.citing import METHOD, UNITS, Answered, Prompted
from mase.defaults import EVIDENCE, Long, NSamples
from mase.document import Scalar, valid_text
from mase.errors import CapabilityError, InvalidTextError, MaseError, ModelError, OptionError, WorkerError
from mase.explainer import Explainer
from mase.files import command, ending, pipes
from mase.methods import parse
from mase.models.base import Model
from mase.models.language.answers import ANSWER, Generated
from mase.models.language.base import Continuation
from mase.models.language.prompts import CONTEXT, QUERY
from mase.models.locks import configure
from mase.models.open import load
from mase.models.user_code import is_code, open_code
from mase.platforms import end_with_parent
from mase.progress import Listener, Progress
from mase.render.html import article
from mase.rng import untouched
from mase.target import listed

# A text, or the fields of a document by name.
Content = str | dict[str, Scalar]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of `mase.Explainer` that a page can choose; what is absent is as the method has it."""

    method: str = "mase"
    units: str = "word"
    n_samples: NSamples | None = None
    reference: str | None = None
    link: str | None = None
    seed: int = 0
    evidence: int = EVIDENCE
    zoom: int = 0
    long: Long | None = None
    fixed: tuple[str, ...] = ()
    background: dict[str, Scalar] = {}

    @property
    def asked_samples(self) -> NSamples | None:
        """The number of samples, which may be given within the method."""
        samples: NSamples | None = parse(self.method).options.get("n_samples", self.n_samples)
        return samples

    @property
    def options(self) -> dict[str, Any]:
        """The options that are given, by name."""
        return explainer_options(
            {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        )


def explainer_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as options of `mase.Explainer`, which says by `windows` what the page says by `long`."""
    options = {name: value for name, value in settings.items() if name != "long"}
    return options | {"windows": True} if settings.get("long") == "windows" else options


# What `mase.cite` has where nothing else is chosen.
CITE = Settings(method=METHOD, units=UNITS, evidence=0)


class _Message(msgspec.Struct, frozen=True, tag=True):
    pass


class Open(_Message, frozen=True, tag=True):
    """Open a model, as `mase explain -m` does, or with a server as `mase cite --server` does."""

    model: str
    download: bool = False
    device: str | None = None
    trust_remote_code: bool = False
    threads: int | None = None
    server: str | None = None


class Predict(_Message, frozen=True, tag=True):
    """Return the probabilities of a text, or the values."""

    text: Content


class Explain(_Message, frozen=True, tag=True):
    """Explain a text.

    For a language model, the text is what it is prompted with: its texts, the query in the field "query", and the
    answer in the field "answer", which is generated if there is none. `against` is another answer.
    """

    text: Content
    target: str | None
    settings: Settings
    against: str | None = None


class Without(_Message, frozen=True, tag=True):
    """Return the prediction without some units of an explanation, whose attribution is a line of JSON."""

    attribution: str
    explained: Explain
    units: tuple[int, ...]


class Regenerate(_Message, frozen=True, tag=True):
    """Return what a language model answers without some units of an explanation, as in `Without`."""

    attribution: str
    explained: Explain
    units: tuple[int, ...]


Ask = Predict | Explain | Without | Regenerate


class Request(_Message, frozen=True, tag=True):
    """A numbered request."""

    number: int
    ask: Ask


class Cancel(_Message, frozen=True, tag=True):
    """End the request of this number as soon as the model has answered a batch."""

    number: int


class Ready(_Message, frozen=True, tag=True):
    """The model is open; one that answers is a language model. Results name it as it calls itself."""

    name: str
    labels: tuple[str, ...]
    references: tuple[str, ...]
    answers: bool


class Unable(_Message, frozen=True, tag=True):
    """The model cannot be opened."""

    error: str
    message: str


class Asked(_Message, frozen=True, tag=True):
    """So many evaluations are done."""

    number: int
    asked: int
    of: int


class Round(_Message, frozen=True, tag=True):
    """The article of the attribution so far."""

    number: int
    html: str


class Predicted(_Message, frozen=True, tag=True):
    """The probabilities of the classes, or the values of a model without classes."""

    number: int
    numbers: tuple[float, ...]
    are_values: bool


class Explained(_Message, frozen=True, tag=True):
    """The article of an attribution, and the attribution as a line of JSON."""

    number: int
    html: str
    attribution: str


class Changed(_Message, frozen=True, tag=True):
    """The prediction without some units, and what the scores lead to expect."""

    number: int
    label: str
    probability: float | None
    target_probability: float | None
    response: float
    expected_response: float | None
    expected_probability: float | None


class Said(_Message, frozen=True, tag=True):
    """The answer that will be explained."""

    number: int
    text: str


class Answer(_Message, frozen=True, tag=True):
    """What a language model answers."""

    number: int
    text: str


class Failed(_Message, frozen=True, tag=True):
    """The request failed."""

    number: int
    error: str
    message: str


class Cancelled(_Message, frozen=True, tag=True):
    """The request was cancelled."""

    number: int


ToModel = Open | Request | Cancel
FromModel = Ready | Unable | Asked | Round | Said | Predicted | Explained | Changed | Answer | Failed | Cancelled
_ENCODER = msgspec.msgpack.Encoder()
_LENGTH = 4


def encode(message: ToModel | FromModel) -> bytes:
    """Return a message as a frame: its length in four bytes, and its content."""
    try:
        content = _ENCODER.encode(message)
    except OverflowError as error:
        raise OptionError("an integer has more than 64 bits, expected a smaller one") from error
    return len(content).to_bytes(_LENGTH, "big") + content


def decode(kind: Any) -> Any:
    """Return the function that turns the content of a frame into a message of a kind."""
    return msgspec.msgpack.Decoder(kind).decode


# Seconds that the process has to end after it has closed its pipe.
_PROCESS_GRACE = 1.0


class ModelProcess:
    """A process with one model. It ends when the server closes the pipe or ends itself."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._decode: Callable[[bytes], FromModel] = decode(FromModel)

    @classmethod
    async def start(cls) -> Self:
        """Start a process."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command("mase_serve.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if sys.stderr is None else None,
            )
        except OSError as error:
            raise WorkerError(f"a process for the model cannot be started ({error}); use fewer models") from error
        return cls(process)

    async def send(self, message: ToModel) -> None:
        """Send a message; do nothing if the process has ended."""
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(encode(message))
            await pipe.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # `receive` reports the end

    async def receive(self) -> FromModel | None:
        """Return the next message of the process; None if it has ended."""
        pipe = self._process.stdout
        assert pipe is not None
        try:
            length = int.from_bytes(await pipe.readexactly(4), "big")
            return self._decode(await pipe.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionResetError, msgspec.DecodeError):
            return None

    def kill(self) -> None:
        """Kill the process, if it has not ended."""
        if self._process.returncode is None:
            self._process.kill()

    async def end(self) -> str:
        """Wait until the process has ended, and say how; one that closed its pipe and goes on is killed."""
        for _ in range(2):
            try:
                async with asyncio.timeout(_PROCESS_GRACE):
                    return ending(await self._process.wait())
            except TimeoutError:
                self.kill()
        return "was ended"


_KEPT = 16
_SETTINGS = msgspec.json.Decoder(Settings)


class Explaining:
    """A model, with the explainers of the settings that were asked for last."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._explainers = lru_cache(_KEPT)(lambda key: Explainer(model, **_SETTINGS.decode(key).options))

    def explain(self, ask: Explain, listener: Listener, generated: Callable[[str], None]) -> Attribution:
        """Return the attribution of a text; nothing is `generated` before."""
        del generated
        target = listed(ask.target, self._model.labels)
        return self._explainer(ask)(ask.text, target=target, against=ask.against, on_progress=listener)

    def without(self, ask: Explain, attribution: Attribution, units: Sequence[int]) -> ChangedPrediction:
        """Return the prediction without some units of an attribution."""
        return self._explainer(ask).predict_without(attribution, units)

    def regenerate(self, ask: Explain, attribution: Attribution, units: Sequence[int]) -> str:
        """Refuse to answer: only a language model does."""
        del ask, attribution, units
        raise CapabilityError(f"the model {self._model.name!r} generates no answers, expected a language model")

    def _explainer(self, ask: Explain) -> Explainer:
        explainer: Explainer = self._explainers(msgspec.json.encode(ask.settings))
        return explainer


_EXPLAIN = msgspec.json.Decoder(Explain)


class Answering:
    """A language model, with the answers that it gave last."""

    def __init__(self, model: Generated) -> None:
        self._model = model
        self._generated = lru_cache(_KEPT)(self._generate)
        self._answered = lru_cache(_KEPT)(self._answer)

    def explain(self, ask: Explain, listener: Listener, generated: Callable[[str], None]) -> Attribution:
        """Return which units of a prompt its answer comes from. If there is none, it is `generated` and told first."""
        answered = self._answered(msgspec.json.encode(ask))
        if answered.answer.generated:
            generated(answered.answer.text)
        return answered.attribution(listener)

    def without(self, ask: Explain, attribution: Attribution, units: Sequence[int]) -> ChangedPrediction:
        """Return the probability of the same answer without some units of an attribution."""
        return self._answered(msgspec.json.encode(ask)).explainer.predict_without(attribution, units)

    def regenerate(self, ask: Explain, attribution: Attribution, units: Sequence[int]) -> str:
        """Return what the model answers without some units of an attribution."""
        context, query, _ = prompt_of(ask.text)
        return self._prompted(context, query).generate_without(attribution, units, self._model.max_new_tokens).text

    def _answer(self, key: bytes) -> Answered:
        ask = _EXPLAIN.decode(key)
        context, query, answer = prompt_of(ask.text)
        prompted = self._prompted(context, query)
        continued = self._generated(tuple(context.items()), query) if answer is None else prompted.given(ANSWER, answer)
        options = ask.settings.options
        return prompted.answered(continued, generated=answer is None, against=ask.against, **options)

    def _generate(self, context: tuple[tuple[str, str], ...], query: str) -> Continuation:
        return self._prompted(dict(context), query).generate(self._model.max_new_tokens)

    def _prompted(self, context: dict[str, str], query: str) -> Prompted:
        language_model, template = self._model.language_model, self._model.template
        return Prompted.of(language_model, context=context, query=query, template=template)


def prompt_of(text: Content) -> tuple[dict[str, str], str, str | None]:
    """Return the texts by name, the query, and the answer; None if it is to be generated."""
    fields = {CONTEXT: text} if isinstance(text, str) else text
    texts: dict[str, str] = {}
    for name, content in fields.items():
        if not isinstance(content, str):
            raise InvalidTextError(f"field {name!r} is {content!r:.60}, expected a text")
        texts[name] = content
    query, answer = texts.pop(QUERY, ""), texts.pop(ANSWER, "")
    return texts, query, answer if answer.strip() else None


# Seconds in which the process may finish what it does after the server has closed the pipe.
_CHILD_GRACE = 0.5

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
            time.sleep(_CHILD_GRACE)
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
            from mase.models.language.server import CompletionServer

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
            return Predicted(number, numbers, self.model.returns_values)
        if isinstance(ask, Explain):
            result = self._explaining.explain(
                ask, self._listener(number), lambda text: self._answer(Said(number, text))
            )
            return Explained(number, article(result), dumps(result))
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
            if now - shown >= ROUND_PAUSE and (result := progress.attribution) is not None:
                self._answer(Asked(number, progress.n_asked, progress.n_samples))
                self._answer(Round(number, article(result)))
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


def _nobody(event: str, data: dict[str, Any]) -> None:
    del event, data


class Job:
    """A request, and what becomes of it.

    Parameters
    ----------
    number
        Its number, different for all requests to a model.
    ask
        What is asked.
    tell
        Is called with the name of an event and its data while the request waits and is answered.

    Attributes
    ----------
    answer
        The last message about the request, when there is one.
    """

    def __init__(self, number: int, ask: Ask, tell: Callable[[str, dict[str, Any]], None] = _nobody) -> None:
        self.number, self.ask, self._tell = number, ask, tell
        self.answer: asyncio.Future[FromModel] = asyncio.get_running_loop().create_future()

    @property
    def is_quick(self) -> bool:
        """Whether it takes no more than an evaluation or two."""
        return not isinstance(self.ask, Explain | Regenerate)

    def wait_behind(self, n: int) -> None:
        """Take note that n requests are before it."""
        self._tell("queued", {"ahead": n})

    def take(self, message: FromModel) -> None:
        """Take a message about the request."""
        if isinstance(message, Asked):
            self._tell("progress", {"asked": message.asked, "of": message.of})
        elif isinstance(message, Said):
            self._tell("answer", {"text": message.text})
        elif isinstance(message, Round):
            self._tell("round", {"html": message.html})
        elif not self.answer.done():
            self.answer.set_result(message)

    def fail(self, error: Exception) -> None:
        """End the request with an error."""
        self.take(Failed(self.number, type(error).__name__, str(error)))

    def cancel(self) -> None:
        """End the request."""
        self.take(Cancelled(self.number))
