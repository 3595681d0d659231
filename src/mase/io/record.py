"""JSON objects read with care: every value is asked for by key and type."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

from mase.errors import DataError

__all__ = ["Record"]

T = TypeVar("T")


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
