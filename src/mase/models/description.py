"""What a model was taken for, and what was guessed about it, for `mase.check`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from mase.links import value_names

__all__ = [
    "DescribedModel",
    "Description",
    "Guess",
    "described",
    "description_of",
    "of_function",
    "of_module",
    "precision_of",
    "recognised",
    "unnamed",
]

# The names of classes that nobody named: their numbers, as transformers writes them, too.
_NUMBERS = re.compile(r"(not )?(LABEL_)?\d+")


@dataclass(frozen=True, slots=True)
class Guess:
    """Something that nobody said about a model.

    Attributes
    ----------
    what
        What was taken for granted, such as "the scores are logits".
    remedy
        What to pass to say it.
    """

    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Description:
    """What an object was taken for.

    Attributes
    ----------
    kind
        The kind of model, such as "Hugging Face BertForSequenceClassification".
    labels_from
        Where the names of its classes are from.
    device, precision
        The device and the data type of the weights; None where they are not known.
    guesses
        What the adapter guessed.
    context_length
        Largest number of tokens that a language model reads; it refuses more. None for other models, without a limit,
        or if it is not known.
    """

    kind: str
    labels_from: str
    device: str | None = None
    precision: str | None = None
    guesses: tuple[Guess, ...] = ()
    context_length: int | None = None


@runtime_checkable
class DescribedModel(Protocol):
    """A model that describes itself."""

    @property
    def description(self) -> Description:
        """What the model was taken for."""
        ...


def of_module(model: Any, owner: str, labels_from: str, remedy: str, *guesses: Guess) -> Description:
    """Return the description of a model that has a torch `module` on a `device`.

    `remedy` says how to name classes that have no names.
    """
    kind = f"{owner} {type(model.module).__name__}"
    return Description(
        kind, labels_from, model.device, precision_of(model.module), (*unnamed(model.labels, remedy), *guesses)
    )


def precision_of(module: Any) -> str | None:
    """Return the data type of the weights of a torch module, such as "float32"; None if it has none."""
    types = (str(parameter.dtype) for parameter in module.parameters() if parameter.is_floating_point())
    return next((name.removeprefix("torch.") for name in types), None)


def of_function(
    model: Any, function: Any, labels: Sequence[str], *, is_named: bool, of_one_column: bool
) -> Description:
    """Return the description of a model that is known by a function, perhaps of an estimator."""
    owner = getattr(function, "__self__", None)
    kind = f"{model.kind} {model.name}" if owner is None else f"{model.package} {type(owner).__name__}"
    named = "given" if getattr(owner, "classes_", None) is None else "classes_ of the estimator"
    adapter = f"mase.models.{model.opened_as}"
    if of_one_column and not is_named and not model.returns_values:
        return Description(kind, "its one column", guesses=(_of_one_column(labels[1], adapter),))
    guesses = unnamed(labels, f"pass {adapter}(..., labels=[...]), one name per column")
    if not is_named:
        k = len(labels)
        numbered = labels == (value_names(k) if model.returns_values else tuple(map(str, range(k))))
        named = "the columns, numbered" if numbered else "the answers of the model"
    return Description(kind, named, guesses=guesses)


def _of_one_column(second: str, adapter: str) -> Guess:
    """Return the guess about a function of one number per text, which nobody said anything about."""
    return Guess(
        f"the one number per text is the probability of the second of two classes, {second!r}",
        f"pass {adapter}(..., labels=['no', 'yes']) with their names, or outputs='values' if it is no probability",
    )


def described(owner: str, labels_from: str, remedy: str) -> property:
    """Return the property `description` of a class of models with a torch `module`, of which nothing is guessed."""
    return property(lambda model: of_module(model, owner, labels_from, remedy), doc="What the model was taken for.")


def recognised(model: Any, kind: str, labels: Sequence[str] | None, outputs: str) -> Description:
    """Return the description of a model whose kind of scores is recognised if `outputs` is "auto"."""
    scores = model.output.kind
    guess = Guess(f"the scores are {scores}, by their values", f"pass outputs={scores!r}")
    guesses = unnamed(model.labels, "pass labels=[...], one name per column")
    named = "given" if labels else "the columns, numbered"
    return Description(kind, named, guesses=(*guesses, guess) if outputs == "auto" else guesses)


def unnamed(labels: Sequence[str], remedy: str) -> tuple[Guess, ...]:
    """Return the guess that the classes are called by their numbers; none if they have names.

    Examples
    --------
    >>> unnamed(["0", "1"], "pass labels=[...]")[0].what
    "the classes are called '0', '1'"
    """
    if not all(map(_NUMBERS.fullmatch, labels)):
        return ()
    shown = ", ".join(map(repr, labels[:3])) + (", ..." if len(labels) > 3 else "")
    return (Guess(f"the classes are called {shown}", remedy),)


def description_of(model: Any) -> Description:
    """Return the description of any model; one of another package that has none is described by its class.

    Raises
    ------
    MaseError
        If the model cannot be evaluated.
    """
    if isinstance(model, DescribedModel):
        return model.description
    return Description(type(model).__name__, "the model", guesses=unnamed(model.labels, "give the model labels"))
