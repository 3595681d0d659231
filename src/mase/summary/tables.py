"""The tables of a summary as Arrow tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType, NoneType, UnionType
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from mase.summary.effects import Example, Family, GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase.summary.overview import Confusion, Distribution, Failures, NoteCount, Overview, PredictedClass
from mase.summary.summary import Summary

__all__ = ["ROWS", "table"]

# The kind of the rows of each table.
ROWS: Mapping[str, Any] = MappingProxyType(
    {
        "overview": Overview,
        "predictions": PredictedClass,
        "quality": Distribution,
        "notes": NoteCount,
        "failures": Failures,
        "words": WordEffect,
        "phrases": PhraseEffect,
        "confusion": Confusion,
        "wrong": PushDifference,
        "low_confidence": PushDifference,
        "groups": GroupDifference,
        "families": Family,
    }
)
# Most examples of a row.
_EXAMPLES = 3
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: pa.DataType
    values: list[Any]


def table(summary: Summary, name: str) -> pa.Table:
    """Return a table of `ROWS` by its name, with a column of strings for each of the three examples.

    Raises
    ------
    KeyError
        If there is no such table.
    """
    found = getattr(summary, name)
    rows = [found] if name == "overview" else list(found)
    columns = [column for field in fields(ROWS[name]) for column in _columns(ROWS[name], field.name, rows)]
    return pa.table(
        [pa.array(column.values, column.type) for column in columns],
        schema=pa.schema([(column.name, column.type) for column in columns]),
    )


def _columns(kind: Any, name: str, rows: Sequence[Any]) -> list[_Column]:
    values = [getattr(row, name) for row in rows]
    if name == "examples":
        return [
            _Column(f"example_{index + 1}", pa.string(), [_shown(found, index) for found in values])
            for index in range(_EXAMPLES)
        ]
    hint = get_type_hints(kind)[name]
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return [_Column(name, _TYPES.get(hint, pa.string()), values)]


def _shown(examples: Sequence[Example], index: int) -> str | None:
    """Return an example in its context, with the word in square brackets; None if there are fewer."""
    if index >= len(examples):
        return None
    example = examples[index]
    before, after = "…" * example.cut_before + example.before, example.after + "…" * example.cut_after
    return f"{before}[{example.text}]{after}"
