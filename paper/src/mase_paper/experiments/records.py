"""One record per text and method: the word order, its cost, and the effect of masking."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mase.arrays import Bools
from mase.errors import DataError

__all__ = ["COLUMNS", "DEPTH", "FIELDS", "PROBABILITY_KS", "Record", "Records", "bits", "dumps", "loads", "merged"]

# Flips are recorded for k = 1 ... DEPTH, probabilities for the paper's k only.
DEPTH = 15
PROBABILITY_KS = (1, 5, 10, 15)
# The names of a record's values in files, in the order of the fields of `Record`; `chance` is its field `probability`.
COLUMNS = (
    "number", "row", "words", "target", "order", "queries", "gradients", "seconds", "half", "flips", "chance", "start",
    "eraser", "infidelity", "areas",
)  # fmt: skip
_LISTS = ("order", "flips", "chance", "eraser", "infidelity", "areas")


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one method on one text, with m masking operators.

    Attributes
    ----------
    number, row
        Number of the text in the order of the run, and its row in the test split.
    words, target
        Number of words that the model read, and the explained class (the predicted one, which is correct).
    order
        The words with the highest scores, at most `DEPTH` of them, as positions in reading order.
    queries, gradients, seconds
        Model evaluations, those with a backward pass, and the time that the explanation takes on its own.
    half
        Whether half precision was used.
    flips
        One integer per operator. Bit k - 1 is set if the prediction changes when the top k words are masked.
    probability
        The target's probability with the top k words masked by the first operator, k in `PROBABILITY_KS`, in
        thousandths.
    start
        The target's probability for the unmasked text, in thousandths.
    eraser
        Comprehensiveness and sufficiency (means over the ERASER shares of words) and log-odds (top 20 % of the words),
        by the first operator. Empty if there are no scores.
    infidelity
        With the scores at their best scale: the squared error, and its share of the squared changes; see
        `mase.metrics.perturbation.Infidelity`. Empty if there are no scores, if no prediction changed, and in the
        oldest records, which were made before infidelity was recorded.
    areas
        Deletion and insertion, by the first operator; see `mase.metrics.curves`. Empty if there are no
        scores, and in records that were made before these were recorded.
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
    areas: tuple[float, ...] = ()


FIELDS = tuple(field.name for field in fields(Record))


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one method on one target.

    Attributes
    ----------
    headers
        What records have in common: method, weights, data, software and machine.
    by_number
        The records by text number.
    header_of
        The index of each record's header.
    """

    headers: tuple[Mapping[str, Any], ...] = ()
    by_number: Mapping[int, Record] = field(default_factory=dict)
    header_of: Mapping[int, int] = field(default_factory=dict)


def merged(parts: Iterable[Records]) -> Records:
    """Return the records of several sources of one method and target.

    If two sources have a record of the same text, the first one counts.
    """
    headers: list[Mapping[str, Any]] = []
    by_number: dict[int, Record] = {}
    header_of: dict[int, int] = {}
    for part in parts:
        headers += [header for header in part.headers if header not in headers]
        indices = [headers.index(header) for header in part.headers]
        for number, record in part.by_number.items():
            if number not in by_number:
                by_number[number], header_of[number] = record, indices[part.header_of[number]]
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
    values = [int(value) if isinstance(value, bool) else value for value in (getattr(record, name) for name in FIELDS)]
    return json.dumps(values, separators=(",", ":")) + "\n"


def loads(values: list[Any], place: str) -> Record:
    """Return the record in a line that was read as JSON. A line of an earlier version ends before the areas."""
    if not len(COLUMNS) - 1 <= len(values) <= len(COLUMNS):
        raise DataError(f"{place} has {len(values)} values, expected {len(COLUMNS)}: {', '.join(COLUMNS)}")
    named = dict(zip(COLUMNS, [*values, []], strict=False))
    try:
        lists = {name: tuple(named[name]) for name in _LISTS}
        numbers = [value for name, value in named.items() if name not in lists]
        numbers += [value for name in lists for value in lists[name]]
    except TypeError as error:
        raise DataError(f"{place} is not a record ({error}); remove the file, or run with --fresh") from error
    if not all(isinstance(value, int | float) for value in numbers):
        raise DataError(f"{place} is not a record, expected numbers; remove the file, or run with --fresh")
    return Record(*(named | lists | {"half": bool(named["half"])}).values())
