"""What was recognised of a model, as a value that prints itself."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mase.models.description import Guess
from mase.render.numbers import counted, duration
from mase.render.pieces import inline
from mase.text import Truncation

__all__ = ["Agreement", "Check", "Defaults", "Speed", "speed_facts"]

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

    Attributes
    ----------
    again
        Between two questions that are the same.
    in_batch
        Between the input alone and in a batch with others, as far as it exceeds `again`.
    """

    again: float
    in_batch: float

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
