"""One record per text and method, as one short line of JSON: what was found, what it cost, and what masking did."""

import json
from dataclasses import dataclass
from typing import Any

from mase.arrays import Bools
from mase.errors import DataError

__all__ = ["CHANCE_KS", "COLUMNS", "DEPTH", "Record", "bits", "dumps", "loads"]

# Flips are kept for k = 1 ... DEPTH, probabilities for the paper's k only.
DEPTH = 15
CHANCE_KS = (1, 5, 10, 15)
COLUMNS = (
    "number", "row", "words", "target", "order", "queries", "gradients", "seconds", "half", "flips", "chance", "start",
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
    chance
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
    chance: tuple[int, ...]
    start: int
    eraser: tuple[float, ...] = ()
    infidelity: tuple[float, ...] = ()


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
        lists = {name: tuple(named[name]) for name in ("order", "flips", "chance", "eraser", "infidelity")}
        numbers = [value for name, value in named.items() if name not in lists] + [
            value for name in lists for value in lists[name]
        ]
    except TypeError as error:
        raise DataError(f"{place} is no record ({error}); remove the file, or run with --fresh") from error
    if not all(isinstance(value, int | float) for value in numbers):
        raise DataError(f"{place} is no record, expected numbers; remove the file, or run with --fresh")
    return Record(**named | lists | {"half": bool(named["half"])})
