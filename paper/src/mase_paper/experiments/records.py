"""One record per text and method: what was found, what it cost, and what masking did."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mase.arrays import Bools
from mase.errors import DataError

__all__ = ["CHANCE_KS", "COLUMNS", "DEPTH", "Record", "Records", "bits", "dumps", "loads", "merged"]

# Flips are kept for k = 1 ... DEPTH, probabilities for the paper's k only.
DEPTH = 15
CHANCE_KS = (1, 5, 10, 15)
COLUMNS = (
    "number", "row", "words", "target", "order", "queries", "gradients", "seconds", "half", "flips", "probability", "start",
    "eraser", "infidelity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """What one method found on one text, with m masking operators.

    Attributes
    ----------
    number, row
        Number of the text in the order of the run, and its row in the test split.
    words, target
        How many words the model read, and the class explained (the one predicted, which is the right one).
    order
        The words of highest score, at most `DEPTH` of them, numbered in reading order.
    queries, gradients, seconds
        Model evaluations, forward only and with a backward pass, and the time that the explanation takes on its own.
    half
        Whether half precision was used.
    flips
        For each operator an integer whose bit k - 1 is set where the prediction changes without the top k words.
    probability
        The target's probability without the top k words, k in `CHANCE_KS`, by the first operator, in thousandths.
    start
        The target's probability for the text itself, in thousandths.
    eraser
        Comprehensiveness and sufficiency (means over the ERASER shares of words) and log-odds (top 20 % of the words),
        by the first operator; empty for what has no scores.
    infidelity
        With the scores at their best scale: the squared error, and the share of the squared changes that it is; see
        `mase.metrics.infidelity.Infidelity`. Empty for what has no scores, where nothing moved, and in the
        oldest records, made before it was asked for.
    """

    number: int
    row: int
    words: int
    target: int
    order: tuple[int, ...]
    queries: int
    gradients: int
    seconds: float
    half: bool
    flips: tuple[int, ...]
    probability: tuple[int, ...]
    start: int
    eraser: tuple[float, ...] = ()
    infidelity: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Records:
    """What one method found on one target.

    Attributes
    ----------
    headers
        What stands above the records: method, weights, data, software and machine.
    by_number
        The records by the number of their text.
    header_of
        The index of the header that each record stands under.
    """

    headers: tuple[Mapping[str, Any], ...] = ()
    by_number: Mapping[int, Record] = field(default_factory=dict)
    header_of: Mapping[int, int] = field(default_factory=dict)


def merged(parts: Iterable[Records]) -> Records:
    """Return the records of several sources of one method and target; of two records of one text the first counts."""
    headers: list[Mapping[str, Any]] = []
    by_number: dict[int, Record] = {}
    header_of: dict[int, int] = {}
    for part in parts:
        headers += [header for header in part.headers if header not in headers]
        places = [headers.index(header) for header in part.headers]
        for number, record in part.by_number.items():
            if number not in by_number:
                by_number[number], header_of[number] = record, places[part.header_of[number]]
    return Records(tuple(headers), by_number, header_of)


def bits(flags: Bools) -> int:
    """Return flags as an integer whose bit i is flag i.

    Examples
    --------
    >>> bits([False, True, True])
    6
    """
    return sum(1 << index for index, flag in enumerate(flags) if flag)


def dumps(record: Record) -> str:
    """Return the record as one line of JSON: its values in the order of `COLUMNS`."""
    values = [getattr(record, column) for column in COLUMNS]
    return (
        json.dumps([int(value) if isinstance(value, bool) else value for value in values], separators=(",", ":")) + "\n"
    )


def loads(values: list[Any], place: str) -> Record:
    """Return the record of a line that was read as JSON.

    Raises
    ------
    DataError
        If it is none.
    """
    if len(values) != len(COLUMNS):
        raise DataError(f"{place} has {len(values)} values, expected {len(COLUMNS)}: {', '.join(COLUMNS)}")
    named = dict(zip(COLUMNS, values, strict=True))
    try:
        lists = {name: tuple(named[name]) for name in ("order", "flips", "probability", "eraser", "infidelity")}
        numbers = [value for name, value in named.items() if name not in lists] + [
            value for name in lists for value in lists[name]
        ]
    except TypeError as error:
        raise DataError(f"{place} is no record ({error}); remove the file, or run with --fresh") from error
    if not all(isinstance(value, int | float) for value in numbers):
        raise DataError(f"{place} is no record, expected numbers; remove the file, or run with --fresh")
    return Record(**named | lists | {"half": bool(named["half"])})
