"""From whatever a model returns to checked scores `(n, k)` and labels.

torch does not say whether numbers in [0, 1] are probabilities or logits. The operation that computed them does: a
sigmoid gives probabilities, and a linear layer gives logits. The only record of the operation is the name of `grad_fn`.
These names are not a stable interface of torch, so only this module knows them. An unknown name does no harm: if the
scores are ambiguous, the user is asked to pass `outputs`.

torch is imported only where there is a tensor, so that models of other frameworks are recognised without it.
"""

import math
import operator
import re
import sys
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeGuard, get_args

import numpy as np
from scipy.sparse import issparse

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Note
from mase.defaults import check_choice, is_integer, is_real
from mase.document import Document, valid_text
from mase.errors import CapabilityError, MaseError, ModelError, NonFiniteError, OptionError, ServiceError, ShapeError
from mase.links import Output, value_names
from mase.models.base import Model
from mase.rng import untouched
from mase.text import Side, Tokens

if TYPE_CHECKING:
    import torch


_EXPECTED_OUTPUT_ROUNDING = 1e-6
_SUM_ROUNDING = 0.01  # bfloat16 has eight bits
_HALF_A_PERCENT = 0.005  # what each probability with two decimals may be off by
_FUNCTION = "pass a function such as predict_proba, or return a data frame with a column per class"
_VALUES = "return an array, or a data frame with a column per value"
_AWAITED = "pass a function that waits for it, as asyncio.run does"


@dataclass(frozen=True, slots=True)
class ExpectedOutput:
    """What a black box is expected to return.

    Attributes
    ----------
    name
        Name of the black box, for messages.
    output
        Whether the numbers are probabilities, logits or values.
    labels
        Names of the classes or values, or of the second of two classes; None if their number is not known yet.
    opened_as
        Name of the class that takes the options which messages name.
    """

    name: str
    output: Output
    labels: tuple[str, ...] | None
    opened_as: str

    def scores(self, result: Any, texts: Sequence[object]) -> Floats:
        """Return class scores `(n, k)`, k >= 2, or values `(n, k)` from the output for n texts, in a new array."""
        return self.of_all_classes(self.columns(result, texts))

    def of_all_classes(self, columns: Floats) -> Floats:
        """Return class scores `(n, k)`, k >= 2, or values from checked columns: one is that of the second class."""
        if self._of_values or columns.shape[1] > 1:
            return columns
        other = np.zeros_like(columns) if self.output.kind == "logits" else 1 - columns
        return np.concatenate([other, columns], axis=1)

    def columns(self, result: Any, texts: Sequence[object]) -> Floats:
        """Return the columns `(n, c)` of the output for n texts, checked and in a new array.

        The output is a list, a NumPy array without masked entries, a torch tensor of any precision and device, a data
        frame, a sparse matrix, or anything else that NumPy reads as real numbers `(n, k)`, `(n, 1)` or `(n,)`. A single
        column is the score of the second of two classes, or one value.
        """
        array = self._numbers(result, texts)
        self._check_shape(array, result, texts)
        if not self._of_values and (array.ndim == 1 or array.shape[1] == 1):
            self._check_column(array, result, texts)
        # astype makes a copy, because the function may reuse its array.
        table: Floats = array.astype(np.float64).reshape(len(texts), -1)
        bad = ~np.isfinite(table) if self._of_values else np.isnan(table) | (table == np.inf)
        if bad.any():
            what = "values" if self._of_values else "class scores"
            bad_texts = [text for text, row in zip(texts, bad, strict=True) if row.any()]
            raise NonFiniteError(f"{self._first(bad, table, texts)}, expected finite {what}{without_words(bad_texts)}")
        if self.output.kind == "probabilities":
            self._check_range(table, texts)
        if self.output.kind == "probabilities" and not self.output.multilabel and table.shape[1] > 1:
            self._check_sums(table, texts)
        return table

    @property
    def _of_values(self) -> bool:
        return self.output.kind == "values"

    def _numbers(self, result: Any, texts: Sequence[object]) -> np.ndarray:
        """Return the output as an array of real numbers."""
        if isinstance(result, Coroutine):
            result.close()  # or else Python warns that nobody awaited it
            self._refuse(result, "of an async function", texts, _AWAITED)
        try:
            plain = _on_host(result)
            if _is_masked(plain):
                self._refuse(result, f"whose row {_first_masked(plain)} has masked entries", texts)
            array = np.asarray(plain)
            if array.dtype == np.object_ and array.ndim:  # as from a data frame with nullable columns
                array = np.asarray(array.tolist())
        except (MaseError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 (the user's type may raise anything when NumPy converts it)
            self._refuse(result, _ragged(result) or f"that NumPy cannot read ({type(error).__name__}: {error})", texts)
        if array.dtype.kind not in "fiub":
            self._refuse(result, f"of dtype {array.dtype} and shape {array.shape}{_first_row(plain, array)}", texts)
        return array

    def _refuse(self, result: Any, what: str, texts: Sequence[object], remedy: str | None = None) -> NoReturn:
        columns, usual = ("one per value", _VALUES) if self._of_values else ("one probability per class", _FUNCTION)
        raise ModelError(
            f"{self.name} returned {_kind(result)} {what}, expected real numbers of shape ({len(texts)}, k), "
            f"{columns}; {remedy or usual}{without_words(texts)}"
        )

    def _check_shape(self, array: np.ndarray, result: Any, texts: Sequence[object]) -> None:
        n = len(texts)
        k = array.shape[1] if array.ndim == 2 else 1
        fewest = 1 if self._of_values else 2
        expected = None if self.labels is None else len(self.labels)  # one name is that of the second of two classes
        if array.ndim not in (1, 2) or len(array) != n or not k or (k >= fewest and expected not in (None, k)):
            raise ShapeError(
                f"{self.name} returned {_kind(result)} of shape {array.shape}, expected ({n}, {expected or 'k'}): "
                f"one row per text, one column per {'value' if self._of_values else 'class'}{without_words(texts)}"
            )
        if k == 1 and self.output.multilabel:
            raise ShapeError(
                f"{self.name} returned one column (shape {array.shape}), expected ({n}, k) with k >= 2 separate "
                "questions; do not pass multilabel for a single question"
            )
        if k < fewest and expected not in (None, 1, 2):
            raise ShapeError(f"{self.name} returned one column (shape {array.shape}), expected ({n}, {expected})")

    def _check_column(self, array: np.ndarray, result: Any, texts: Sequence[object]) -> None:
        """Refuse a single column that may not be the score of a class."""
        if array.dtype.kind in "iub":
            what = f"of dtype {array.dtype} and shape {array.shape}, whose row 0 is {_shown(array[0])}"
            self._refuse(result, f"{what}: these read as the numbers of classes, as predict gives them", texts)
        if self.output.kind == "logits" and self.labels is None:
            raise OptionError(
                f"{self.name} returned one column of scores (shape {array.shape}), which may be the logit of a class "
                "or not a class score at all; pass labels=['no', 'yes'] if it is the logit of the second class, "
                "outputs='values' if it is a number to explain as it is (a likelihood, a regression), or a function "
                "that returns probabilities and outputs='probabilities'"
            )

    def _check_range(self, table: Floats, texts: Sequence[object]) -> None:
        bad = (table < -_EXPECTED_OUTPUT_ROUNDING) | (table > 1 + _EXPECTED_OUTPUT_ROUNDING)
        if bad.any():
            if table.shape[1] > 1 and np.allclose(table.sum(axis=1), 100, atol=1) and (table >= 0).all():
                raise ModelError(
                    f"{self._first(bad, table, texts)}, expected probabilities in [0, 1]; these are percent, so divide "
                    "them by 100"
                )
            if table.shape[1] > 1 and (table <= 0).all() and np.allclose(np.exp(table).sum(axis=1), 1, atol=1e-2):
                raise ModelError(
                    f"{self._first(bad, table, texts)}, expected probabilities in [0, 1]; these are log-probabilities, "
                    f"so pass {self.opened_as}(..., outputs='logits')"
                )
            labels = ", labels=['no', 'yes']" if table.shape[1] == 1 and self.labels is None else ""
            raise ModelError(
                f"{self._first(bad, table, texts)}, expected probabilities in [0, 1]; pass "
                f"{self.opened_as}(..., outputs='logits'{labels}) if they are logits, or outputs='values' if they are "
                "no class scores"
            )

    def _check_sums(self, table: Floats, texts: Sequence[object]) -> None:
        rounded = np.allclose(table, np.round(table, 2), rtol=0, atol=_EXPECTED_OUTPUT_ROUNDING)  # of float32, too
        allowed = max(_SUM_ROUNDING, _HALF_A_PERCENT * table.shape[1] if rounded else 0.0)
        bad = np.abs(table.sum(axis=1, keepdims=True) - 1) > allowed + _EXPECTED_OUTPUT_ROUNDING
        if bad.any():
            total = table[np.flatnonzero(bad)[0]].sum()
            raise ModelError(
                f"{self._first(bad, table, texts)}, which sums to {total:.3g}, expected 1; return all classes, not the "
                f"best (top_k=None), or pass {self.opened_as}(..., multilabel=True) if they are separate questions"
            )

    def _first(self, bad: Bools, table: Floats, texts: Sequence[object]) -> str:
        """Return the start of a message about the first row that has a true entry in `bad` `(n, k)`."""
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        where = f"row {row} (for the text {texts[row]!r:.60})"
        return f"{self.name} returned shape {table.shape}, whose {where} is {_shown(table[row])}"


def without_words(texts: Sequence[object]) -> str:
    """Return that some of the texts have no word, and what to do if the model cannot read them; "" if all have one."""
    n_empty = sum(isinstance(text, str) and not text.strip() for text in texts)
    if not n_empty:
        return ""
    return f" ({n_empty} of the {len(texts)} texts had all words masked; pass mask_token='...' to leave a token)"


def _on_host(value: Any) -> Any:
    """Return the value with tensors and sparse matrices, also inside a list of rows, converted to NumPy arrays."""
    if isinstance(value, list | tuple):
        return [item if type(item) in (float, int) else _on_host(item) for item in value]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        dense = value.detach().to_dense().resolve_conj().resolve_neg().cpu()
        return (dense.double() if dense.is_floating_point() else dense).numpy()  # NumPy has no bfloat16
    return value.toarray() if issparse(value) else value


def _is_masked(plain: Any) -> bool:
    """Return whether any entry is masked, also inside a list of rows, where NumPy would ignore the masks."""
    if isinstance(plain, list):
        return any(isinstance(row, list | np.ma.MaskedArray) and _is_masked(row) for row in plain)
    return bool(np.ma.is_masked(plain))


def _first_masked(plain: Any) -> int:
    rows = np.atleast_1d(plain) if isinstance(plain, np.ma.MaskedArray) else plain
    return next(index for index, row in enumerate(rows) if _is_masked(row))


def _kind(result: Any) -> str:
    """Return the name of the output's type, for a list also the type of its first row."""
    if isinstance(result, list | tuple) and result:
        return f"{type(result).__name__} of {type(result[0]).__name__} ({_shown(result[0])})"
    return type(result).__name__


def _ragged(result: Any) -> str | None:
    """Return a description of the first row whose length differs from row 0, None if there is none."""
    if not isinstance(result, Sequence) or not result:
        return None
    lengths = [len(row) if isinstance(row, Sequence | np.ndarray) else None for row in result]
    row = next((index for index, length in enumerate(lengths) if length != lengths[0]), None)
    return None if row is None else f"whose row {row} has another length than row 0 ({result[row]!r:.60})"


def _first_row(plain: Any, array: np.ndarray) -> str:
    """Return ", whose row i is ..." for the first row that does not hold real numbers, "" if there are no rows."""
    if not array.ndim:
        return ""
    rows = plain if isinstance(plain, list) else array.tolist()
    real = [
        all(isinstance(x, float | int | np.floating | np.integer) for x in (r if isinstance(r, list) else [r]))
        for r in rows
    ]
    return next((f", whose row {index} is {_shown(rows[index])}" for index, good in enumerate(real) if not good), "")


def _shown(row: Any) -> str:
    text = " ".join(repr(row.tolist() if isinstance(row, np.ndarray | np.generic) else row).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


_N_ROWS, _N_LENGTHS = 8, 4
_FEWEST = 3  # different words of a text that are varied


def trial_rows(tokens: Tokens, vocabulary: Collection[int] = ()) -> Iterator[Ints]:
    """Yield four batches of ids `(8, t)` with random ones of a text's tokens, each one shorter if it can be.

    A function that does not read the order would give the same number for each order of the same tokens. Fixed tokens
    keep their places. If nearly all words of the text are unknown, ids of the `vocabulary` take their place.
    """
    ids, fixed = np.array(tokens.ids, dtype=np.int64), np.array(tokens.fixed)
    rng = np.random.default_rng(0)
    words = ids[~fixed] if not fixed.all() else ids
    if len(set(words.tolist())) < _FEWEST and vocabulary:
        words = np.array(sorted(vocabulary), dtype=np.int64)
    for n_less in range(_N_LENGTHS):
        left = np.delete(np.arange(len(ids)), np.flatnonzero(~fixed)[1:][:n_less])
        drawn = rng.choice(words, size=(_N_ROWS, len(left)))
        yield np.where(fixed[left], ids[left], drawn)


def trial_scores(
    run: Callable[[Ints, Ints | None], Any], tokens: Tokens, owner: str, vocabulary: Collection[int] = ()
) -> Floats:
    """Return what a function returns `(32, k)` for the rows of a text; its types are 0 if the tokens have types."""
    result: list[Floats] = []
    for ids in trial_rows(tokens, vocabulary):
        raw = np.asarray(run(ids, None if tokens.types is None else np.zeros_like(ids)), dtype=np.float64)
        raw = raw[:, None] if raw.ndim == 1 else raw
        k = result[0].shape[1] if result and raw.ndim == 2 else "k"
        if raw.ndim != 2 or len(raw) != len(ids) or not raw.shape[1] or k not in ("k", raw.shape[1]):
            raise ShapeError(
                f"{owner} returned scores of shape {raw.shape} for ids of shape {ids.shape}, expected ({len(ids)}, "
                f"{k}): one row per text, one column per class"
            )
        result.append(raw)
    return np.concatenate(result)


_LINEAR = ("Addmm", "Mm", "Addmv", "Mv", "Bmm", "Linear")
_SIGMOID = "Sigmoid"

# Operations that change the shape or the type of a tensor and keep its values.
_SHAPING = (
    "View", "UnsafeView", "Squeeze", "Unsqueeze", "Select", "Slice", "Reshape", "ToCopy", "Alias", "Permute",
    "Transpose",
)  # fmt: skip


def last_operation(tensor: "torch.Tensor") -> str:
    """Return the name of the operation that computed the values of a tensor, "" if autograd did not record it."""
    operation = tensor.grad_fn
    while operation is not None and operation.name().startswith(_SHAPING):
        source = operation.next_functions[0][0]
        if source is None:
            break
        operation = source
    return "" if operation is None else operation.name()


def is_linear(operation: str) -> bool:
    """Return whether this is the name of a matrix product, as in a linear layer."""
    return operation.startswith(_LINEAR)


def is_sigmoid(operation: str) -> bool:
    """Return whether this is the name of a sigmoid."""
    return operation.startswith(_SIGMOID)


Kind = Literal["auto", "logits", "probabilities", "values"]
_OUTPUTS_ROUNDING = 1e-2  # bfloat16 has eight bits
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
        """Return scores `(n, k)`; a single column is expanded to two classes."""
        width = 1 if self.one_column else self.n_classes
        if raw.shape[1] != width:
            why = f", because {self.width_from}" if self.width_from else " as before"
            raise ShapeError(f"model returned scores of shape {tuple(raw.shape)}, expected ({len(raw)}, {width}){why}")
        if self.output.kind == "probabilities" and bool(
            ((raw < -_OUTPUTS_ROUNDING) | (raw > 1 + _OUTPUTS_ROUNDING)).any()
        ):
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
    """Check that a tensor on the device of a model has numbers."""
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
    """Return the names of the k classes: the given labels, or "0", "1", ... (of values, `value_names`)."""
    if labels is None and scores.output.kind == "values":
        return value_names(scores.n_classes)
    if labels is None:
        return tuple(str(index) for index in range(scores.n_classes))
    if scores.one_column and len(labels) == 1:
        return (f"not {labels[0]}", labels[0])
    if len(labels) != scores.n_classes:
        raise ShapeError(f"model returned {scores.n_classes} columns, expected {len(labels)}: the number of labels")
    return labels


def check_labels(labels: Sequence[Any] | None) -> tuple[str, ...]:
    """Return the names of the classes as str."""
    unordered = isinstance(labels, str | bytes | set | frozenset | Mapping)
    names = tuple(map(str, labels)) if isinstance(labels, Iterable) and not unordered else ()
    if not names or len(set(names)) < len(names):
        raise OptionError(
            f"labels is {labels!r:.200}, expected one name per class, all different and in the order of the classes, "
            "for example ['neg', 'pos']"
        )
    broken = next((name for name in names if valid_text(name) != name), None)
    if broken is not None:
        raise OptionError(f"labels has {broken!r:.80}, which is no valid Unicode, expected names that can be written")
    return names


def check_ids(
    roles: Mapping[str, int | None], special_ids: Collection[int]
) -> tuple[dict[str, int | None], frozenset[int]]:
    """Return the ids of "mask", "unk" and "pad" and those that are never scored, that of "pad" too, as int.

    A tensor would be equal to no id in a set.
    """
    own = {role: None if token is None else _integer(f"{role}_id", token) for role, token in roles.items()}
    fixed = frozenset(_integer("special_ids", token) for token in special_ids)
    pad = own.get("pad")
    return own, fixed if pad is None else fixed | {pad}


def _integer(name: str, token: Any) -> int:
    try:
        return int(operator.index(token))
    except TypeError:
        raise OptionError(f"{name} has {token!r:.60}, expected integer ids of the tokenizer") from None


def check_length(max_length: int | None, least: int = 1, most: int | None = None, what: str = "") -> None:
    """Check the longest input in tokens, from `least` to `most`; None is valid. `what` ends the message."""
    if max_length is None:
        return
    if not is_integer(max_length) or max_length < least or (most is not None and max_length > most):
        valid = f">= {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"max_length is {max_length!r:.60}, expected an integer {valid}{what}")


def check_keep(keep: str) -> None:
    """Check which end of a longer text a model reads."""
    check_choice("keep", keep, get_args(Side))


def kept_end(keep: Side | None, truncation_side: object) -> Side:
    """Return which end of a longer text a model reads: the given one, or that of its tokenizer's `truncation_side`."""
    if keep is not None:
        return keep
    return "end" if truncation_side == "left" else "start"


def check_outputs(outputs: str, *, multilabel: bool) -> None:
    """Check the kind of what a model returns; see `mase.models.scores.recognise`."""
    check_choice("outputs", outputs, get_args(Kind))
    if multilabel and outputs == "values":
        raise OptionError("multilabel is True, expected False for outputs='values', which are no classes")


def show_example(model: Model, example: Document | str | None) -> None:
    """Ask a model about a document, unless it is a plain text or None; what it says or raises does not matter.

    A function whose classes have no names is asked about a plain text otherwise, which a function of records cannot
    read.
    """
    if isinstance(example, Document):
        with suppress(MaseError), untouched():
            model.predict([example])


class Columns:
    """The columns of the scores of one model, which are learned from the first answer where they are not given.

    A row is a number, a list of numbers, an object from label to number, or a list of objects with a label and a
    number. True and false are no numbers. Labels that are learned are sorted, with numbers in them by value, because
    servers often sort them by score. Where labels are given, the answers may name the classes by them, or all by the
    numbers of the columns from "0".

    Parameters
    ----------
    labels
        Names of the classes in the order of the columns; None if they are not known.
    place
        The address of the server, for messages.
    label, score
        Names of label and number in an object for one class.
    fewest
        How many classes an answer must name at least: 1 where its numbers are values and no classes.

    Attributes
    ----------
    labels
        The names; None as long as they are not known, or the answers have none.
    """

    def __init__(
        self,
        labels: Sequence[str] | None,
        place: str,
        label: str = "label",
        score: str = "score",
        fewest: int = 2,
    ) -> None:
        self.labels = None if labels is None else check_labels(labels)
        self._place, self._keys, self._fewest = place, (label, score), fewest
        self._names: tuple[str, ...] | None = None
        self._n: int | None = None

    def table(self, rows: Sequence[Any]) -> list[list[float]]:
        """Return the rows `(n, k)` as lists of floats, with the classes in one order; JSON writes 1.0 as 1, too."""
        return [[_float(number) for number in self._numbers(index, row)] for index, row in enumerate(rows)]

    def _numbers(self, index: int, row: Any) -> list[Any]:
        pairs = self._pairs(row)
        if pairs is None:
            return self._plain(index, [row] if is_real(row) else row)
        scores = dict(pairs)
        if self._names is None and (self.labels or (self._n is None and len(scores) >= self._fewest)):
            self._names = self._learned(scores)
        if self._names is None or set(scores) != set(self._names) or len(pairs) != len(scores):
            self._refuse(index, f"has the classes {[label for label, _ in pairs]!r:.200}")
        return [scores[name] for name in self._names]

    def _learned(self, scores: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what the first answer calls the classes, in the order of the columns."""
        if self.labels is None:
            self.labels = tuple(sorted(scores, key=_natural))
        numbers = tuple(map(str, range(len(self.labels))))
        return numbers if set(numbers) == set(scores) != set(self.labels) else self.labels

    def _plain(self, index: int, row: Any) -> list[Any]:
        if not isinstance(row, list) or not row or not all(map(is_real, row)):
            self._refuse(index, f"is {row!r:.100}")
        if self._n is None:
            self._n = len(row)
        if len(row) != self._n:
            self._refuse(index, f"has {len(row)} numbers")
        return row

    def _pairs(self, row: Any) -> list[tuple[str, Any]] | None:
        """Return the labels and numbers of a row; None if it is not labelled."""
        if _is_list_of_objects(row):
            label, score = self._keys
            pairs = [(item.get(label), item.get(score)) for item in row]
        elif isinstance(row, Mapping) and not set(self._keys) <= set(row):
            pairs = list(row.items())
        else:
            return None
        labelled = [(label, score) for label, score in pairs if isinstance(label, str) and is_real(score)]
        return labelled if len(labelled) == len(pairs) else None

    def _refuse(self, index: int, what: str) -> NoReturn:
        if self.labels is not None:
            expected = f"a number for each of the classes {list(self.labels)!r:.200}"
        elif self._n is not None:
            expected = f"{self._n} numbers as in the first answer"
        else:
            expected = "a list of numbers, or a number for every class: ask for all classes, not the best (top_k=None)"
        raise ServiceError(f"{self._place} answered with scores whose row {index} {what}, expected {expected}")


def _float(number: Any) -> float:
    """Return a number as a float; one that is larger than any is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_labelled(rows: Any) -> bool:
    """Return whether rows are objects with labels and numbers, as `Columns` reads them, and not numbers alone."""
    return isinstance(rows, list | tuple) and bool(rows) and all(map(_has_numbers, rows))


def _has_numbers(row: Any) -> bool:
    if _is_list_of_objects(row):
        return all(map(_has_numbers, row))
    return isinstance(row, Mapping) and any(map(is_real, row.values())) and all(
        is_real(value) or isinstance(value, str) for value in row.values()
    )  # fmt: skip


def _is_list_of_objects(row: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    return isinstance(row, list) and bool(row) and all(isinstance(item, Mapping) for item in row)


def _natural(label: str) -> list[tuple[int, int, str]]:
    """Return a sorting key that puts LABEL_2 before LABEL_10."""
    parts = re.split(r"(\d+)", label)
    return [(0, int(part), "") if part.isdecimal() and len(part) < 10 else (1, 0, part) for part in parts]
