"""JSON objects read with care: every value is asked for by key and type."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

from mase.errors import DataError

__all__ = ["Record"]

T = TypeVar("T")

# The last digits of a number that was computed, and how far from [0, 1] adapters let a model's probabilities be: in half
# precision they have few digits.
_ROUNDING, _HALF_PRECISION = 1e-9, 1e-2


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object whose values are asked for by key and type; `place` says where it is, for errors.

    Every method raises `DataError` if the key is missing or its value is of another type.
    """

    values: Mapping[str, Any]
    place: str

    def get(self, key: str, kind: type[T]) -> T:
        """Return the value of a key."""
        if key not in self.values:
            raise DataError(f"{self.place} lacks {key!r}, which its schema requires")
        value = self.values[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(key, kind.__name__)
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """Return the value of a key, which may be null."""
        return None if key in self.values and self.values[key] is None else self.get(key, kind)

    def number(self, key: str) -> float:
        """Return the finite number of a key."""
        value = self.get(key, Real)  # type: ignore[type-abstract]
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.wrong(key, "a finite number")
        return number

    def within(self, key: str, low: float, high: float = math.inf) -> float:
        """Return the number of a key, which must be from `low` to `high`, rounding apart."""
        return self._bounded(key, low, high, _ROUNDING)

    def probability(self, key: str) -> float:
        """Return the number of a key, which must be a probability."""
        return self._bounded(key, 0, 1, _HALF_PRECISION)

    def _bounded(self, key: str, low: float, high: float, rounding: float) -> float:
        number = self.number(key)
        if not low - rounding <= number <= high + rounding:
            raise self.wrong(key, f"a number >= {low:g}" if high == math.inf else f"a number from {low:g} to {high:g}")
        return number

    def optional_within(self, key: str, low: float, high: float = math.inf) -> float | None:
        """Return the number of a key, which must be from `low` to `high` or null."""
        return None if key in self.values and self.values[key] is None else self.within(key, low, high)

    def count(self, key: str, low: int = 0) -> int:
        """Return the whole number of a key, which must be at least `low`."""
        number = self.get(key, int)
        if number < low:
            raise self.wrong(key, f"a whole number >= {low}")
        return number

    def name(self, key: str) -> str:
        """Return the string of a key, which must not be empty."""
        if not self.get(key, str):
            raise self.wrong(key, "a name")
        return self.get(key, str)

    def optional_number(self, key: str) -> float | None:
        """Return the finite number of a key, which may be null."""
        return None if key in self.values and self.values[key] is None else self.number(key)

    def table(self, key: str) -> dict[str, Any]:
        """Return the object of a key as a dictionary."""
        return dict(self.get(key, dict))

    def record(self, key: str) -> "Record":
        """Return the object of a key as a record."""
        return Record(self.get(key, dict), f"{self.place}, {key}")

    def records(self, key: str) -> Iterator["Record"]:
        """Yield the objects in the list of a key."""
        for index, value in enumerate(self.get(key, list)):
            place = f"{self.place}, {key}[{index}]"
            if not isinstance(value, dict):
                raise DataError(f"{place} is a {type(value).__name__}, expected an object")
            yield Record(value, place)

    def wrong(self, key: str, expected: str) -> DataError:
        """Return the error for a value of the wrong type."""
        return DataError(f"{self.place}: {key!r} is {self.values[key]!r:.80}, expected {expected}")
