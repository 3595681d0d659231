"""What a sequence classifier of transformers returns: classes, separate labels or values, and their names.

No framework is imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mase.errors import OptionError
from mase.links import Output, value_names
from mase.models.outputs import Scores

__all__ = ["Head", "HeadOutputs", "head_labels", "head_scores"]

HeadOutputs = Literal["auto", "logits", "values"]
# The name that transformers gives to the only class of a configuration without class names.
_UNNAMED = "LABEL_0"


@dataclass(frozen=True, slots=True)
class Head:
    """What a configuration of transformers says of a head, for files that are read without transformers.

    It has the names that the configuration has, and takes its place.
    """

    num_labels: int
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
        If an option is invalid, or the only column may not be the score of a class.
    """
    k, problem = config.num_labels, config.problem_type
    if outputs not in ("auto", "logits", "values"):
        raise OptionError(f"outputs is {outputs!r}, expected 'auto', 'logits' or 'values'")
    if outputs == "values" or (outputs == "auto" and problem == "regression"):
        if multilabel:
            raise OptionError("multilabel is True, expected False for outputs='values', which are no classes")
        return Scores(Output("values"), one_column=False, n_classes=k)
    if outputs == "auto" and k == 1 and problem is None and _names(config) == (_UNNAMED,):
        raise OptionError(
            f"{owner} has one label, {_UNNAMED}, which may not be a class at all (a regression, a ranking), expected "
            "config.id2label with its name; pass outputs='logits' if it is the logit of a class, or outputs='values' "
            "to explain the number as it is"
        )
    separate = problem == "multi_label_classification" if multilabel is None else multilabel
    return Scores(Output("logits", separate and k > 1), one_column=k == 1, n_classes=max(k, 2))


def head_labels(config: Any, scores: Scores) -> tuple[str, ...]:
    """Return the names of the k classes or values; equal names are numbered, and one class has its opposite."""
    names = _names(config)
    if len(set(names)) < len(names):
        names = tuple(f"{index}: {name}" for index, name in enumerate(names))
    if scores.one_column:
        return f"not {names[0]}", names[0]
    return value_names(1) if scores.output.kind == "values" and names == (_UNNAMED,) else names


def _names(config: Any) -> tuple[str, ...]:
    return tuple(str(config.id2label[index]) for index in range(config.num_labels))
