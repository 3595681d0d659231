"""Interpret what a module returns: which tensor holds the scores, and whether they are probabilities.

torch is imported only where there is a tensor, so that models of other frameworks are recognised without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mase.arrays import Floats
from mase.attribution import Note
from mase.errors import CapabilityError, ModelError, OptionError, ShapeError
from mase.links import Output, value_names
from mase.models.autograd import is_linear, is_sigmoid

if TYPE_CHECKING:
    import torch

__all__ = [
    "PROBABILITIES",
    "Kind",
    "Scores",
    "are_distributions",
    "are_probabilities",
    "check_numbers",
    "class_scores",
    "recognise",
    "score_labels",
]

Kind = Literal["auto", "logits", "probabilities", "values"]
_ROUNDING = 1e-2  # bfloat16 has eight bits
_WRAP = "wrap what it answers: mase.models.Callable(lambda texts: ..., labels=[...])"
PROBABILITIES = Note(
    "outputs",
    "the model returns probabilities where logits were declared, and they were explained as probabilities, without a "
    "second softmax; to say so yourself, pass outputs='probabilities' where the model takes it",
)
_NAMES = ("logits", "probabilities", "probs", "scores")


@dataclass(frozen=True, slots=True)
class Scores:
    """The kind of a module's scores, their number k of columns, and whether one column represents two classes.

    `width_from` says where the number of columns is from, for messages; "" if the module itself showed it. `corrected`
    says that they were declared as logits, and are probabilities.
    """

    output: Output
    one_column: bool
    n_classes: int
    width_from: str = ""
    corrected: bool = False

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if the scores are not what they were declared as."""
        return (PROBABILITIES,) if self.corrected else ()

    def doubtful(self, table: Floats) -> bool:
        """Return whether scores `(n, k)` that are declared as logits may be probabilities, which trial rows decide."""
        own = table[:, 1:] if self.one_column else table
        within = bool(((own >= 0) & (own <= 1)).all())
        return self.output.kind == "logits" and not self.corrected and within and bool(len(own))

    def of_table(self, table: Floats) -> Floats:
        """Return scores `(n, k)` that were read as logits as what they are."""
        if not (self.corrected and self.one_column):
            return table
        return np.concatenate([1 - table[:, 1:], table[:, 1:]], axis=1)

    def table(self, raw: "torch.Tensor") -> "torch.Tensor":
        """Return scores `(n, k)`; a single column is expanded to two classes.

        Raises
        ------
        ShapeError
            If the number of columns is another one.
        ModelError
            If probabilities are outside [0, 1].
        """
        width = 1 if self.one_column else self.n_classes
        if raw.shape[1] != width:
            why = f", because {self.width_from}" if self.width_from else " as before"
            raise ShapeError(f"model returned scores of shape {tuple(raw.shape)}, expected ({len(raw)}, {width}){why}")
        if self.output.kind == "probabilities" and bool(((raw < -_ROUNDING) | (raw > 1 + _ROUNDING)).any()):
            raise ModelError(
                f"model returned numbers from {float(raw.min()):.3g} to {float(raw.max()):.3g}, expected probabilities "
                "in [0, 1]; pass outputs='logits' if they are logits"
            )
        if not self.one_column:
            return raw
        import torch

        other = torch.zeros_like(raw) if self.output.kind == "logits" else 1 - raw
        return torch.cat([other, raw], dim=1)


def are_probabilities(rows: Floats, operation: str = "") -> bool:
    """Return whether numbers `(n, k)` for varied inputs are probabilities beyond doubt: no logits are such numbers.

    All are in [0, 1] and differ from row to row, and each row sums to 1, or a sigmoid computed them.
    """
    if len(rows) < 8 or not np.isfinite(rows).all() or not np.ptp(rows, axis=0).any():
        return False
    return are_distributions(rows) or (is_sigmoid(operation) and rows.min() >= 0 and rows.max() <= 1)


def are_distributions(rows: Floats) -> bool:
    """Return whether all numbers `(n, k)` are in [0, 1], and the k >= 2 numbers of each row sum to 1."""
    within = rows.shape[1] > 1 and rows.min() >= 0 and rows.max() <= 1
    return bool(within and np.allclose(rows.sum(axis=1), 1, atol=1e-3))


def class_scores(result: Any, n: int) -> "torch.Tensor":
    """Return the scores `(n, k)` from the output of a module for n inputs.

    The output may be a tensor, dense or sparse, a tuple or list that starts with one, or a mapping (ModelOutput) with
    "logits", "probabilities", "probs" or "scores".

    Raises
    ------
    ModelError
        If there is no such tensor, or it does not have n rows.
    CapabilityError
        If it has no numbers; see `check_numbers`.
    """
    import torch

    scores = result
    if isinstance(result, Mapping):
        scores = next((result[name] for name in _NAMES if result.get(name) is not None), None)
        if scores is None:
            raise ModelError(
                f"model returned a mapping with keys {sorted(map(str, result))}, expected one of {', '.join(_NAMES)}; "
                f"{_WRAP}"
            )
    elif isinstance(result, tuple | list) and len(result):
        scores = result[0]
    if not isinstance(scores, torch.Tensor):
        raise ModelError(
            f"model returned {type(scores).__name__}, expected a tensor of class scores (n, k), a tuple or a mapping; "
            f"{_WRAP}"
        )
    if not scores.is_floating_point():
        raise ModelError(
            f"model returned a tensor of {scores.dtype}, expected class scores in floating point: "
            "logits or probabilities, no class numbers"
        )
    check_numbers(scores)
    scores = scores.to_dense()
    if n == 1 and scores.ndim < 2:  # the module squeezed its output and lost the row of the only text
        scores = scores.reshape(1, -1)
    table = scores[:, None] if scores.ndim == 1 else scores
    if table.ndim != 2 or len(table) != n or not table.shape[1]:
        per_token = f", not scores per token as from a language model; {_WRAP}" if scores.ndim == 3 else ""
        raise ModelError(
            f"model returned scores of shape {tuple(scores.shape)}, expected ({n}, k): "
            f"one row per text, one column per class{per_token}"
        )
    return table


def check_numbers(tensor: "torch.Tensor") -> None:
    """Check that a tensor on the device of a model has numbers.

    Raises
    ------
    CapabilityError
        If it has only a shape, because the weights of the model are not loaded.
    """
    if tensor.is_meta:
        raise CapabilityError(
            "the model is on the device meta, without the numbers of its weights, expected a model that can be "
            "evaluated; load its weights, for example with from_pretrained"
        )


def recognise(raw: Floats, kind: Kind, *, multilabel: bool, last_operation: str = "", named: bool = True) -> Scores:
    """Return the kind of the scores `(n, k)` of n varied inputs.

    ``"auto"`` decides by the values and by `last_operation`, the name of the operation that computed them:

    - Rows of numbers in [0, 1] that sum to 1 are probabilities.
    - Several columns in [0, 1] that do not sum to 1 are probabilities of separate questions if a sigmoid computed them,
      and logits if a linear layer did.
    - One column in [0, 1] is a probability, unless a linear layer computed it.
    - All other scores are logits. One column of logits is accepted only if the classes are `named`, because it may be a
      likelihood or a regression.

    Values are never recognised: their kind is ``"values"`` if the user says so. Logits that `are_probabilities` are
    corrected.

    Raises
    ------
    OptionError
        If several columns in [0, 1] could be logits or probabilities, or one column may not be the score of a class.
    """
    k = raw.shape[1]
    if kind == "values":
        return Scores(Output(kind), one_column=False, n_classes=k)
    if kind == "logits" and are_probabilities(raw, last_operation):
        return Scores(Output("probabilities", multilabel and k > 1), k == 1, max(k, 2), corrected=True)
    if kind == "auto":
        inside = bool(np.isfinite(raw).all() and raw.min() >= 0 and raw.max() <= 1)
        sums_to_one = bool(np.allclose(raw.sum(axis=1), 1, atol=1e-2))
        linear, sigmoid = is_linear(last_operation), is_sigmoid(last_operation)
        if k > 1 and inside and not sums_to_one and not multilabel and not sigmoid and not linear:
            raise OptionError(
                f"model returned {k} numbers in [0, 1] that do not sum to 1, which may be logits or probabilities; "
                "pass outputs='logits', or outputs='probabilities' and multilabel=True if they are separate questions"
            )
        multilabel = multilabel or (inside and not sums_to_one and sigmoid)
        likely = sums_to_one or (multilabel and not linear) if k > 1 else not linear
        kind = "probabilities" if inside and likely else "logits"
        if k == 1 and kind == "logits" and not named:
            raise OptionError(
                f"model returned one column, from {raw.min():.3g} to {raw.max():.3g}, which may be the logit of a "
                "class or not a class score at all (a likelihood, a regression, a ranking); pass labels=['no', 'yes'] "
                "or outputs='logits' if it is the logit of the second class, or outputs='values' to explain the number "
                "as it is"
            )
    return Scores(Output(kind, multilabel and k > 1), k == 1, max(k, 2))


def score_labels(labels: tuple[str, ...] | None, scores: Scores) -> tuple[str, ...]:
    """Return the names of the k classes: the given labels, or "0", "1", ... (of values, `value_names`).

    Raises
    ------
    ShapeError
        If the number of names is not the number of classes.
    """
    if labels is None and scores.output.kind == "values":
        return value_names(scores.n_classes)
    if labels is None:
        return tuple(str(index) for index in range(scores.n_classes))
    if scores.one_column and len(labels) == 1:
        return (f"not {labels[0]}", labels[0])
    if len(labels) != scores.n_classes:
        raise ShapeError(f"model returned {scores.n_classes} columns, expected {len(labels)}: the number of labels")
    return labels
