"""Put the scores of an answer into columns, one per class and always in the same order."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

from mase.errors import ServiceError
from mase.models.options import check_labels
from mase.scalars import is_real

__all__ = ["Columns", "is_labelled"]


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

    Raises
    ------
    OptionError
        If the labels are not one name per class.
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
        """Return the rows `(n, k)` as lists of floats, with the classes in one order; JSON writes 1.0 as 1, too.

        Raises
        ------
        ServiceError
            If a row does not have the form or the classes of the rows before it.
        """
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
