"""What a model was taken for, and what the head of a classifier returns.

No framework is imported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mase.defaults import check_choice
from mase.errors import CapabilityError, OptionError
from mase.links import Output, value_names
from mase.models.base import Model
from mase.models.language.base import LanguageModel
from mase.models.scores import Scores

HeadOutputs = Literal["auto", "logits", "scores", "values"]

# The name that transformers gives to the only class of a configuration without class names.
_UNNAMED = "LABEL_0"

# What heads of transformers do that are no classifiers of texts, by the end of their names.
_OTHERS = {
    "ForMultipleChoice": "chooses among several texts",
    "ForQuestionAnswering": "finds a span of the text",
    "ForTokenClassification": "labels each token",
    "ForMaskedLM": "predicts masked tokens",
    "ForPreTraining": "predicts masked tokens",
}


def check_head(name: str) -> None:
    """Check that a class of transformers is no head for something else than to classify texts."""
    does = next((what for ending, what in _OTHERS.items() if name.endswith(ending)), None)
    if does is not None:
        raise CapabilityError(
            f"{name} {does}, expected a classifier of texts (...ForSequenceClassification); to explain one of its "
            "numbers, pass a function of texts that returns it: mase.models.Callable(function, outputs='values')"
        )


PROBLEMS = (None, "regression", "single_label_classification", "multi_label_classification")


@dataclass(frozen=True, slots=True)
class Head:
    """What a configuration of transformers says of a head, for files that are read without transformers.

    It has the names that the configuration has, and takes its place.
    """

    id2label: Mapping[int, str]
    problem_type: str | None = None


def head_scores(config: Any, owner: str, *, outputs: HeadOutputs, multilabel: bool | None) -> Scores:
    """Return the kind of the scores that a classifier with this configuration returns.

    Parameters
    ----------
    config
        The configuration of transformers, or a `Head`.
    owner
        Name of the model's class or folder, for messages.
    outputs, multilabel
        See `mase.models.HuggingFace`.
    """
    k, problem = len(_names(config)), config.problem_type
    check_choice("outputs", outputs, get_args(HeadOutputs))
    if outputs == "values" or (outputs == "auto" and problem == "regression"):
        if multilabel:
            raise OptionError("multilabel is True, expected False for outputs='values', which are no classes")
        return Scores(Output("values"), one_column=False, n_classes=k, width_from=f"config.num_labels is {k}")
    if problem not in PROBLEMS:
        raise OptionError(f"config.problem_type is {problem!r:.60}, expected one of {PROBLEMS[1:]}, or None")
    if outputs == "scores" and (multilabel or k == 1):
        raise OptionError(
            f"outputs is 'scores' with {'multilabel=True' if multilabel else 'one label'}, expected several classes of "
            "which one is predicted; use outputs='logits', or outputs='values' for numbers of no class"
        )
    if outputs == "scores":
        ranked = Output("values", ranked=True)
        return Scores(ranked, one_column=False, n_classes=k, width_from=f"config.num_labels is {k}")
    if outputs == "auto" and k == 1 and problem is None and _names(config) == (_UNNAMED,):
        raise OptionError(
            f"{owner} has one label, {_UNNAMED}, which may not be a class at all (a regression, a ranking), expected "
            "config.id2label with its name; pass outputs='logits' if it is the logit of a class, or outputs='values' "
            "to explain the number as it is"
        )
    separate = problem == "multi_label_classification" if multilabel is None else multilabel
    output, n_classes = Output("logits", separate and k > 1), max(k, 2)
    return Scores(output, one_column=k == 1, n_classes=n_classes, width_from=f"config.num_labels is {k}")


def head_labels(config: Any, scores: Scores) -> tuple[str, ...]:
    """Return the names of the k classes or values; equal names are numbered, and one class has its opposite."""
    names = _names(config)
    if len(set(names)) < len(names):
        names = tuple(f"{index}: {name}" for index, name in enumerate(names))
    if scores.one_column:
        return f"not {names[0]}", names[0]
    return value_names(1) if scores.output.kind == "values" and names == (_UNNAMED,) else names


def _names(config: Any) -> tuple[str, ...]:
    """Return the names of the classes in order of their numbers, which may be written as strings."""
    given = config.id2label
    if not isinstance(given, Mapping) or not given:
        raise OptionError(f"config.id2label is {given!r:.60}, expected an object such as {{0: 'neg', 1: 'pos'}}")
    names = {int(key) if isinstance(key, str) and key.isdecimal() else key: str(name) for key, name in given.items()}
    if names.keys() != set(range(len(given))):
        shown = ", ".join(map(str, given))
        raise OptionError(
            f"config.id2label has the keys {shown:.60}, expected 0 to {len(given) - 1}, one for each column of the head"
        )
    return tuple(names[index] for index in range(len(names)))


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


def description_of(model: Model) -> Description:
    """Return the description of any model; one of another package that has none is described by its class."""
    return model.description or Description(
        type(model).__name__, "the model", guesses=unnamed(model.labels, "give the model labels")
    )


_PLAIN = (
    "pass a template that ends where the answer begins, as in '{context}\\n\\nQuestion: {query}\\nAnswer:', or set the "
    "chat template of the tokenizer"
)


@dataclass(frozen=True, slots=True)
class LanguageDescription:
    """What an object was taken for.

    Attributes
    ----------
    kind
        The kind of model, such as "causal language model LlamaForCausalLM".
    messages
        How messages become a prompt; None if that is not known.
    context_length
        Largest number of tokens of a prompt and its answer; None without a limit, or if it is not known.
    stops
        The tokens that end an answer; empty if they are not known.
    device, precision
        The device and the data type of the weights; None where they are not known.
    guesses
        What was guessed.
    """

    kind: str
    messages: str | None = None
    context_length: int | None = None
    stops: tuple[str, ...] = ()
    device: str | None = None
    precision: str | None = None
    guesses: tuple[Guess, ...] = ()


def of_language_module(
    model: Any, owner: str, tokenizer: Any, context_length: int | None, stops: tuple[str, ...]
) -> LanguageDescription:
    """Return the description of a language model with a torch `module` on a `device`.

    `tokenizer` is its `mase.models.language.prompts.PromptTokenizer`.
    """
    known = tokenizer.chat or tokenizer.targets  # an encoder-decoder has no chats
    guesses = () if known else (Guess("prompts are plain text, without the turns of a chat", _PLAIN),)
    messages = "through the chat template of the tokenizer" if tokenizer.chat else "as plain text"
    kind = f"{owner} {type(model.module).__name__}"
    return LanguageDescription(kind, messages, context_length, stops, model.device, precision_of(model.module), guesses)


def language_description_of(model: LanguageModel) -> LanguageDescription:
    """Return the description of any language model; one that has none is described by its class."""
    return model.description or LanguageDescription(type(model).__name__)
