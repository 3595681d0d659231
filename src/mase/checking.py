"""`mase.check`: what a model was taken for, found out by asking it."""

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.document import PAIR, Document, Field, Input, Scalar
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, MaseError, ModelError, ShapeError
from mase.explainer import Explainer
from mase.models.base import Model, Probe
from mase.models.batching import ask
from mase.models.description import Guess, description_of, language_description_of
from mase.models.function import Callable
from mase.models.language.answers import Generated, GivenAnswer, prompt_fields
from mase.models.language.base import Continuation, LanguageModel, Prompt
from mase.models.language.prompts import CONTEXT, QUERY, Template, plain
from mase.pipeline import BoundText
from mase.render.marks import inline
from mase.render.wording import counted, duration
from mase.responses import predictions
from mase.target import Question
from mase.text import Truncation

_LABELS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Defaults:
    """What an explanation uses unless one says otherwise: method, units, and references, the default first.

    `references` is empty for a method that needs none.
    """

    method: str
    units: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far predictions for one input differ, as the largest difference of the probability of a class.

    Differences of values are relative to the largest of them.

    Attributes
    ----------
    again
        Between two questions that are the same.
    in_batch
        Between the input alone and in a batch with others, as far as it exceeds `again`.
    most
        The most inputs that a function took at a time, since it refused more; None if it refused none.
    """

    again: float
    in_batch: float
    most: int | None = None

    # Differences below are rounding of numbers with 32 bits.
    _ROUNDING = 1e-5

    @property
    def is_deterministic(self) -> bool:
        """Whether two questions have the same answer."""
        return self.again <= self._ROUNDING

    @property
    def is_batch_dependent(self) -> bool:
        """Whether the other inputs of a batch change the answer; it cannot be seen if two questions differ."""
        return self.is_deterministic and self.in_batch > self._ROUNDING


@dataclass(frozen=True, slots=True)
class Speed:
    """The time that one input takes.

    Attributes
    ----------
    n_units
        Number p of units of the input.
    batch_size
        Number of rows that were evaluated at once.
    seconds
        Time of one evaluation, in such a batch.
    n_evaluations
        Evaluations of an explanation with default settings, apart from one or two to prepare it.
    """

    n_units: int
    batch_size: int
    seconds: float
    n_evaluations: int

    @property
    def of_an_explanation(self) -> float:
        """Estimated time of one explanation in seconds: that of its evaluations."""
        return self.seconds * self.n_evaluations


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """What a model was taken for. `print` shows it in a few lines.

    Attributes
    ----------
    name
        Name of the model in results.
    kind
        Kind of model, such as "Hugging Face BertForSequenceClassification".
    labels, labels_from
        Names of the k classes, and where they are from.
    output
        "logits", "probabilities" or "values".
    multilabel, ranked
        Whether the classes are separate questions, and whether values are scores of classes.
    inputs
        Kinds of inputs that the model answered: "texts", "pairs", "records".
    cut_off
        How the model cuts off a long text; None if it does not, up to `longest` words.
    longest
        Number of words of the longest text that was tried; 0 for a black box, which may cut off texts itself.
    context_length
        Largest number of tokens that a language model reads with the words of its labels; it refuses more. None for
        other models, without a limit, or if it is not known.
    defaults, agreement, speeds
        Default settings, how far answers agree, and times of a short and of a longer text.
    device, precision
        The device and the data type of the weights; None where they are not known.
    guesses
        What was guessed, each with what to pass to say it.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    labels_from: str
    output: str
    multilabel: bool
    ranked: bool
    inputs: tuple[str, ...]
    cut_off: Truncation | None
    longest: int
    context_length: int | None
    defaults: Defaults
    agreement: Agreement
    speeds: tuple[Speed, ...]
    device: str | None
    precision: str | None
    guesses: tuple[Guess, ...]

    @property
    def facts(self) -> dict[str, str]:
        """What was recognised: lines of plain text by their headings."""
        defaults = self.defaults
        facts = {
            "model": self.kind,
            "labels": f"{_listed(self.labels)} ({self.labels_from})",
            "output": self._output(),
            "inputs": ", ".join(self.inputs),
            "defaults": f"method {defaults.method}, units {defaults.units}{_references(defaults.references)}",
            **self._length(),
            "answers": self._answers(),
            **speed_facts(self.speeds),
            "device": ", ".join(filter(None, (self.device, self.precision))),
        }
        return {heading: inline(line) for heading, line in facts.items() if line}

    def _output(self) -> str:
        if self.output == "values":
            return "scores of classes, which are no probabilities" if self.ranked else "values, without classes"
        return f"{self.output}, {'separate questions' if self.multilabel else 'one class of several'}"

    def _length(self) -> dict[str, str]:
        if self.context_length is not None:
            return {"length": f"{counted(self.context_length, 'token')} at most, with the word of a label"}
        cut = self.cut_off
        if cut is None and not self.longest:
            return {"cut-off": "not known: the model takes texts whole"}
        if cut is None:
            return {"cut-off": f"none up to {self.longest:,} words"}
        return {"cut-off": f"after {counted(cut.n_kept, 'token')}; of a longer text the {cut.kept} is read"}

    def _answers(self) -> str:
        again, in_batch = self.agreement.again, self.agreement.in_batch
        if not self.agreement.is_deterministic:
            return f"asked twice, they differ by {again:.2g}: the standard errors will include this noise"
        if self.agreement.is_batch_dependent:
            return f"in a batch they differ by {in_batch:.2g}: it will be asked one by one, which is slower"
        if self.agreement.most is not None:
            return f"the same when asked twice; it refused more than {counted(self.agreement.most, 'input')} at a time"
        return "the same when asked twice, alone and in a batch"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        plain = asdict(self)
        speeds = [asdict(speed) | {"of_an_explanation": speed.of_an_explanation} for speed in self.speeds]
        return plain | {"speeds": speeds}

    def __repr__(self) -> str:
        width = max(map(len, self.facts))
        lines = [inline(self.name), *(f"  {heading:<{width}}  {line}" for heading, line in self.facts.items())]
        guessed = [f"  {'guessed':<{width}}  {inline(guess.what)}: {guess.remedy}" for guess in self.guesses]
        return "\n".join([*lines, *guessed])


def _listed(labels: Sequence[str]) -> str:
    left = len(labels) - _LABELS_SHOWN
    return ", ".join(labels[:_LABELS_SHOWN]) + (f" and {left:,} more" if left > 0 else "")


def _references(references: Sequence[str]) -> str:
    if not references:
        return ""
    others = f" (also: {', '.join(references[1:])})" if references[1:] else ""
    return f", reference {references[0]}{others}"


def speed_facts(speeds: Sequence[Speed]) -> dict[str, str]:
    """Return the times of an evaluation and of an explanation as lines by their headings."""
    return {"speed": "; ".join(map(_speed, speeds)), "explanation": "; ".join(map(_explanation, speeds))}


def _speed(speed: Speed) -> str:
    return (
        f"{_short(speed.seconds)} per evaluation of {counted(speed.n_units, 'unit')}, in batches of {speed.batch_size}"
    )


def _explanation(speed: Speed) -> str:
    return (
        f"about {_short(speed.of_an_explanation)} for {counted(speed.n_units, 'unit')}, "
        f"{counted(speed.n_evaluations, 'evaluation')}"
    )


def _short(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} µs" if seconds < 1e-3 else duration(seconds)


# Numbers of words of the texts that are tried for a cut-off.
_LENGTHS = (32_768, 16_384, 4_096, 1_024, 256)

# Seconds that the evaluations of one text may take, unless a single one takes longer.
_PATIENCE = 0.5
_SENTENCE = "Most of the people whom we asked were happy with it, and a few were not. "

# An input of each kind.
_EXAMPLES: dict[str, Input] = {
    "texts": _SENTENCE,
    "pairs": ("It rains today.", "The street is dry."),
    "records": {"title": "Rain", "body": "The street is wet.", "place": "Rome"},  # two texts would be a pair
}


def bound(explainer: Explainer, text: Input) -> BoundText:
    """Return an input as the explainer measures it, for the predicted class."""
    model, method = explainer.model, explainer.method
    document = Document.of(text, fixed=explainer.fixed, background=explainer.background)
    return BoundText.of(model, method, document, Question(), explainer.splitter, seed=explainer.seed)


def inputs(model: Model, given: Document | None) -> tuple[str, ...]:
    """Return the kinds of inputs that the model answers: "texts", "pairs" and "records"."""
    result = []
    for kind, example in (_EXAMPLES if given is None else _EXAMPLES | {_kind(given): given}).items():
        with suppress(MaseError):
            model.predict([example])
            result.append(kind)
    return tuple(result)


def _kind(document: Document) -> str:
    if document.is_plain:
        return "texts"
    return "pairs" if tuple(field.name for field in document.fields) == PAIR else "records"


def cut_off(model: Model) -> tuple[Truncation | None, int]:
    """Return how the model cuts off a text that is too long, and the number of words of the text that was tried.

    The text is shorter if the model cannot encode a long one. The number is 0 if none can be encoded, or if that does
    not tell: a black box takes texts whole, and may cut them off itself.
    """
    if isinstance(model, Callable):
        return None, 0
    for n_words in _LENGTHS:
        with suppress(MaseError):
            return model.encode(_SENTENCE * (n_words // len(_SENTENCE.split()))).truncation, n_words
    return None, 0


def fails(model: Model, n_words: int) -> MaseError | None:
    """Return the error of a model for a text of about so many words; None if it answers."""
    try:
        model.predict([_SENTENCE * (n_words // len(_SENTENCE.split()))])
    except MaseError as error:
        return error
    return None


def agreement(explainer: Explainer, texts: Sequence[Input]) -> Agreement:
    """Return how far predictions `(k,)` for the first text differ: asked twice, and in a batch.

    The batch is that of the other texts and, as in an explanation, that of copies of the text with units masked. What
    is asked twice has other random numbers, if the model draws any.
    """
    model, probe = explainer.model, bound(explainer, texts[0]).probe
    rows = np.ones((3, len(probe.scale)))
    rows[0, ::2], rows[1, 1::2] = 0.0, 0.0

    def of_probe(probe: Probe, rows: Floats) -> Floats:
        return np.asarray(predictions(ask(probe, rows), probe.output)[-1])

    found = [
        (*(model.predict(texts[:1])[0] for _ in range(2)), model.predict([*texts[1:], texts[0]])[-1]),
        (of_probe(probe, rows[2:]), of_probe(probe.seeded(1), rows[2:]), of_probe(probe, rows)),
    ]
    if not probe.output.has_classes:
        largest = max(float(np.abs(row).max()) for rows in found for row in rows) or 1.0
        found = [tuple(row / largest for row in rows) for rows in found]
    again = max(float(np.abs(alone - twice).max()) for alone, twice, _ in found)
    in_batch = max(min(float(np.abs(batch - item).max()) for item in (alone, twice)) for alone, twice, batch in found)
    return Agreement(again, max(0.0, in_batch - again), model.largest_call if isinstance(model, Callable) else None)


def speed(explainer: Explainer, text: Input) -> Speed:
    """Return the time of an evaluation of a text with some of its units masked."""
    probe = bound(explainer, text).probe
    p, rng = len(probe.scale), np.random.default_rng(explainer.seed)

    def seconds(n: int) -> float:
        rows = rng.integers(0, 2, size=(n, p)).astype(np.float64)
        begun = time.perf_counter()
        ask(probe, rows)
        return time.perf_counter() - begun

    seconds(1)  # the first evaluation is slower than the others
    n, taken = 1, seconds(1)
    while n < probe.batch_size and taken < _PATIENCE / 8:  # a batch of four times as many takes half of it at most
        n = min(4 * n, probe.batch_size)
        taken = seconds(n)
    budget = explainer.method.budget(p)
    return Speed(p, n, taken / n, min(2**p, budget) if explainer.method.space.binary else budget)


_QUERY = Field(QUERY, "When does the last boat leave?", fixed=True)

_LANGUAGE_SHORT = (
    "The ferry leaves from the north pier. The last boat goes at nine in the evening. Bicycles travel free."
)

_MORE = (
    " The harbour museum is in the old lighthouse. A market fills the square behind the church every Saturday. "
    "Fishermen sell what they caught in the night. Dogs must be kept on a lead. Tickets for the museum cost 12 euros. "
    "The library lends books to visitors, too. In winter the swimming pool is closed. The bakery opens at six."
)

_GIVEN = "At nine in the evening."
_METHOD, _UNITS, _TOKENS = "mase-cite", "sentence", 16

# Differences of log-probabilities below these are rounding of numbers with 32 and 16 bits.
_ROUNDING, _HALF_ROUNDING = 1e-3, 0.25


@dataclass(frozen=True, slots=True, repr=False)
class LanguageCheck:
    """What a language model was taken for. `print` shows it in a few lines.

    Attributes
    ----------
    name
        Name of the model in results.
    kind
        Kind of model, such as "causal language model LlamaForCausalLM".
    messages, context_length, stops
        How messages become a prompt, the largest number of tokens, and the tokens that end an answer; None, or empty,
        where they are not known.
    question, answer
        The question that was asked, and the beginning of the greedy answer; None if the model answers nothing.
    again, in_batch
        How far the log-probability of a token of the answer differs, in nats: asked twice, and alone and in a batch
        with another prompt.
    method, units, link
        Default settings of `mase.cite`.
    speeds
        Times for a short and for a longer context.
    device, precision
        The device and the data type of the weights; None where they are not known.
    guesses
        What was guessed, each with what to pass to say it.
    """

    name: str
    kind: str
    messages: str | None
    context_length: int | None
    stops: tuple[str, ...]
    question: str
    answer: str | None
    again: float
    in_batch: float
    method: str
    units: str
    link: str
    speeds: tuple[Speed, ...]
    device: str | None
    precision: str | None
    guesses: tuple[Guess, ...]

    @property
    def is_deterministic(self) -> bool:
        """Whether two questions have the same answer, but for rounding."""
        return self.again <= self._rounding

    @property
    def facts(self) -> dict[str, str]:
        """What was recognised: lines of plain text by their headings."""
        length = self.context_length
        facts = {
            "model": self.kind,
            "messages": self.messages or "",
            "length": "" if length is None else f"{counted(length, 'token')} at most, with the answer",
            "ends with": ", ".join(self.stops),
            "answers": "nothing" if self.answer is None else f"“{self.answer}” to “{self.question}”",
            "again": self._agreement(),
            "defaults": f"method {self.method}, units {self.units}, link {self.link}",
            **speed_facts(self.speeds),
            "device": ", ".join(filter(None, (self.device, self.precision))),
        }
        return {heading: inline(line) for heading, line in facts.items() if line}

    @property
    def _rounding(self) -> float:
        return _HALF_ROUNDING if self.precision in ("bfloat16", "float16") else _ROUNDING

    def _agreement(self) -> str:
        if not self.is_deterministic:
            return f"asked twice, log-probabilities differ by {self.again:.2g}: the standard errors will include this"
        if self.in_batch > self._rounding:
            return f"in a batch log-probabilities differ by {self.in_batch:.2g}: another batch size changes scores"
        return "the same when asked twice, alone and in a batch"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        speeds = [asdict(speed) | {"of_an_explanation": speed.of_an_explanation} for speed in self.speeds]
        return asdict(self) | {"speeds": speeds}

    def __repr__(self) -> str:
        width = max(map(len, self.facts))
        lines = [inline(self.name), *(f"  {heading:<{width}}  {line}" for heading, line in self.facts.items())]
        guessed = [f"  {'guessed':<{width}}  {inline(guess.what)}: {guess.remedy}" for guess in self.guesses]
        return "\n".join([*lines, *guessed])


def check_language_model(model: LanguageModel, given: Document | None) -> LanguageCheck:
    """Return what a language model is taken for, after some questions about a document, or about two in English."""
    documents = (
        [given]
        if given is not None
        else [Document((Field(CONTEXT, text), _QUERY)) for text in (_LANGUAGE_SHORT, _LANGUAGE_SHORT + _MORE)]
    )
    fields = [prompt_fields(document.content) for document in documents]
    result, template = language_description_of(model), Template.of(None, fields[0])
    messages, prompts = result.messages, [template.filled(field) for field in fields]
    try:
        answer = _answer(model, prompts[0])
    except CapabilityError:  # nobody turns messages into text
        template = Template(plain(template.prompt, model.name))
        messages, prompts = "as plain text", [template.filled(field) for field in fields]
        answer = _answer(model, prompts[0])
    asked = answer or model.continuation(_GIVEN)
    answered = GivenAnswer(model, asked, template=template, generated=answer is not None)
    explainer = Explainer(answered, method=_METHOD, units=_UNITS, evidence=0)
    again, in_batch = _differences(model, prompts, asked)
    return LanguageCheck(
        name=model.name,
        kind=result.kind,
        messages=messages,
        context_length=result.context_length,
        stops=result.stops,
        question=str(fields[0].get(QUERY, documents[0].text)),
        answer=None if answer is None else answer.text,
        again=again,
        in_batch=in_batch,
        method=explainer.method.name,
        units=explainer.splitter.name,
        link=str(explainer.method.link),
        speeds=tuple(speed(explainer, document) for document in documents),
        device=result.device,
        precision=result.precision,
        guesses=result.guesses,
    )


def _answer(model: LanguageModel, prompt: Prompt) -> Continuation | None:
    """Return the beginning of the greedy answer; None if there is none."""
    try:
        return model.generate(prompt, _TOKENS)
    except ModelError:
        return None


def _differences(model: LanguageModel, prompts: Sequence[Prompt], answer: Continuation) -> tuple[float, float]:
    """Return how far log-probabilities of the tokens differ: asked twice, and in a batch with other prompts."""
    (alone,), (again,) = (model.log_probabilities(prompts[:1], [answer]) for _ in range(2))
    (batch,) = model.log_probabilities([*prompts[1:], prompts[0]], [answer])
    return float(np.abs(alone - again).max()), float(np.abs(alone[0] - batch[-1]).max())


_CHECKING_SHORT = "A dull start, but the last hour of the film is wonderful."

_LONG = " ".join([
    "We went on a Monday evening, when there were only a few people, and still waited for half an hour.",
    "The staff were friendly once they had time, though nobody could tell us what was in the soup.",
    "My sister had the fish, which was fresh and came with a good sauce; mine was cold in the middle.",
    "They took it back without a word and did not ask us to pay for it, which I thought was fair.",
    "The room itself is lovely, with a view of the harbour, but too loud for a conversation.",
    "In short, a pleasant place for a drink, and perhaps not the first choice for a long dinner.",
])  # fmt: skip

# Number of words of a text that a black box is tried with. Many models of transformers read half as many.
_MANY_WORDS = 1024


def check(
    model: Any,
    tokenizer: Any = None,
    *,
    text: Input | None = None,
    fixed: Collection[str] = (),
    background: Mapping[str, Scalar] | None = None,
) -> Check | LanguageCheck:
    """Return what a model is taken for: what was recognised, and what was guessed and how to say it.

    The model is asked some questions: about two dozen, and as many more as it answers in a second.

    Parameters
    ----------
    model, tokenizer
        What `mase.Explainer` takes.
    text
        An input to ask about, for a model that cannot read just any text: a text, a pair or a mapping of fields. Two
        texts in English are used by default.
    fixed, background
        What `mase.Explainer` takes for the fields of the input.

    Returns
    -------
    Check or LanguageCheck
        Of a language model, how it is asked and answers in place of its classes.

    Raises
    ------
    MaseError
        If the model cannot be explained.

    Examples
    --------
    >>> import mase
    >>> result = mase.check(lambda texts: [[0.2, 0.8] for _ in texts])
    >>> result.labels, result.output, result.agreement.is_deterministic
    (('0', '1'), 'probabilities', True)
    >>> [(guess.what, guess.remedy) for guess in result.guesses]  # doctest: +NORMALIZE_WHITESPACE
    [("the classes are called '0', '1'", 'pass mase.models.Callable(..., labels=[...]), one name per column')]
    """
    explainer = Explainer(model, tokenizer, fixed=fixed, background=background, evidence=0)
    given = None if text is None else Document.of(text, fixed=fixed, background=background)
    adapted = explainer.model
    if isinstance(adapted, Generated):
        return check_language_model(adapted.language_model, given)
    texts, failed = _readable(explainer, given)
    output, description = bound(explainer, texts[0]).probe.output, description_of(adapted)
    cut, longest = cut_off(adapted)
    return Check(
        name=adapted.name,
        kind=description.kind,
        labels=tuple(adapted.labels),
        labels_from=description.labels_from,
        output=output.kind,
        ranked=output.ranked,
        multilabel=output.multilabel,
        inputs=inputs(adapted, given),
        cut_off=cut,
        longest=longest,
        context_length=description.context_length,
        defaults=_defaults(explainer),
        agreement=agreement(explainer, [texts[0], *texts]),
        speeds=tuple(speed(explainer, item) for item in texts),
        device=description.device,
        precision=description.precision,
        guesses=(*description.guesses, *failed),
    )


def _readable(explainer: Explainer, given: Document | None) -> tuple[list[Input], tuple[Guess, ...]]:
    """Return the inputs to ask about, and what a longer text fails for if it does."""
    if given is not None:
        bound(explainer, given)
        return [given], ()
    try:
        bound(explainer, _CHECKING_SHORT)
    except (EmptyTextError, InvalidTextError, ModelError, ShapeError) as error:
        remedy = "if the model reads something else than an English sentence, pass an example as text='...'"
        raise type(error)(f"{remedy}; {error}") from error
    try:
        bound(explainer, _LONG)
    except MaseError as error:
        what = f"a text of {len(_LONG.split())} words is read whole, and fails: {error}"
        return [_CHECKING_SHORT], (Guess(what, "pass max_length=..., or shorten texts"),)
    failure = fails(explainer.model, _MANY_WORDS) if isinstance(explainer.model, Callable) else None
    if failure is not None:
        what = f"a text of {_MANY_WORDS:,} words is given to the model whole, and fails: {failure}"
        return [_CHECKING_SHORT, _LONG], (Guess(what, "let the model cut off texts, or shorten them"),)
    return [_CHECKING_SHORT, _LONG], ()


def _defaults(explainer: Explainer) -> Defaults:
    reference = explainer.method.space.reference
    others = [name for name in explainer.model.references if name != reference]
    references = () if reference is None else (reference, *others)
    return Defaults(explainer.method.name, explainer.splitter.name, references)
