"""What a black box is expected to return, and how that becomes class scores."""

import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import issparse

from mase.arrays import Bools, Floats
from mase.errors import MaseError, ModelError, NonFiniteError, OptionError, ShapeError
from mase.links import Output

__all__ = ["ExpectedOutput", "without_words"]

_ROUNDING = 1e-6
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
        """Return class scores `(n, k)`, k >= 2, or values `(n, k)` from the output for n texts, in a new array.

        Raises
        ------
        MaseError
            If the output is not what is expected (see `columns`).
        """
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

        Raises
        ------
        ModelError
            If it does not hold real numbers, holds class numbers, or holds no probabilities where they are expected.
        NonFiniteError
            If a number is NaN or positive infinity, or a value is infinite.
        ShapeError
            If it is not one row per text and one column per class.
        OptionError
            If it is one column of logits, and there are no labels.
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
        bad = (table < -_ROUNDING) | (table > 1 + _ROUNDING)
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
        rounded = np.allclose(table, np.round(table, 2), rtol=0, atol=_ROUNDING)  # of float32, too
        allowed = max(_SUM_ROUNDING, _HALF_A_PERCENT * table.shape[1] if rounded else 0.0)
        bad = np.abs(table.sum(axis=1, keepdims=True) - 1) > allowed + _ROUNDING
        if bad.any():
            total = table[np.flatnonzero(bad)[0]].sum()
            raise ModelError(
                f"{self._first(bad, table, texts)}, which sums to {total:.3g}, expected 1; "
                f"pass {self.opened_as}(..., multilabel=True) if the classes are separate questions"
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
