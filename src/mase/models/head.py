"""What a sequence classifier of transformers returns: classes, separate labels or values, and their names.

No framework is imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from mase.choices import check_choice
from mase.errors import CapabilityError, OptionError
from mase.links import Output, value_names
from mase.models.outputs import Scores

__all__ = ["Head", "HeadOutputs", "check_head", "head_labels", "head_scores"]

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

    Raises
    ------
    OptionError
        If an option is invalid, the classes are not numbered from 0, or the only column may not be the score of a
        class.
    """
    k, problem = len(_names(config)), config.problem_type
    check_choice("outputs", outputs, get_args(HeadOutputs))
    if outputs == "values" or (outputs == "auto" and problem == "regression"):
        if multilabel:
            raise OptionError("multilabel is True, expected False for outputs='values', which are no classes")
        return Scores(Output("values"), one_column=False, n_classes=k, width_from=f"config.num_labels is {k}")
    if outputs == "scores" and not multilabel and k > 1:
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
