"""Records as arrays: what one spec did on the first n texts of a target."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase_paper.experiments.records import DEPTH, Record, Records
from mase_paper.experiments.specs import Spec
from mase_paper.experiments.store import read

__all__ = ["Outcomes", "gather"]

# What may differ between the records of one file: a later run may be on another machine.
_MACHINE = ("hardware", "versions")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What one spec did on n texts, with m masking operators.

    Attributes
    ----------
    header
        What the records have in common: their method and settings, weights and data.
    made_on
        The machines and versions that they were made with, and how many texts on each.
    numbers, rows
        `(n,)`: the texts, ascending, and their rows in the split.
    flips
        `(n, m, DEPTH)`: whether the prediction changed without the top 1, 2, ... words.
    start, probability
        `(n,)` and `(n, 4)`: the target's probability for the text, and without its top 1, 5, 10 and 15 words by the
        first operator; a ceiling has none of the latter: `(n, 0)`.
    eraser
        `(n, 3)`: comprehensiveness, sufficiency and log-odds; a ceiling has none.
    infidelity
        `(n, 2)`: scaled and unexplained; NaN for texts that have none.
    queries, gradients, seconds
        `(n,)`: cost per text.
    tops
        n orders of the highest words, at most `DEPTH` of each text.
    half
        `(n,)`: whether half precision was used.
    """

    header: Mapping[str, Any]
    made_on: tuple[Mapping[str, Any], ...]
    numbers: Ints
    rows: Ints
    flips: Bools
    start: Floats
    probability: Floats
    eraser: Floats
    infidelity: Floats
    queries: Ints
    gradients: Ints
    seconds: Floats
    half: Bools
    tops: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def common(self, other: "Outcomes") -> tuple[Ints, Ints]:
        """Return the places `(c,)` in this and in the other of the texts that both have: same number and same row.

        On another device a prediction at the edge may differ, and the texts after it have other numbers.
        """
        _, here, there = np.intersect1d(self.numbers, other.numbers, assume_unique=True, return_indices=True)
        same = self.rows[here] == other.rows[there]
        here, there = here[same], there[same]
        return here.astype(np.int64), there.astype(np.int64)


def gather(folder: Path, target: str, wanted: Mapping[Spec, int]) -> dict[Spec, Outcomes]:
    """Return the outcomes of those specs that have records of any of the first texts, as many as are wanted of each.

    Raises
    ------
    DataError
        If a file does not hold records.
    """
    known, found = read(folder, target, {str(spec) for spec in wanted}), {}
    for spec, n_texts in wanted.items():
        records = known.get(str(spec), Records())
        chosen = [record for number, record in sorted(records.by_number.items()) if number < n_texts]
        if chosen:
            found[spec] = _outcomes([records.headers[records.header_of[record.number]] for record in chosen], chosen)
    return found


def _made_on(headers: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield each machine with its versions once, and how many texts have it."""
    each = [{key: header[key] for key in _MACHINE} for header in headers]
    counts = Counter(json.dumps(one, sort_keys=True) for one in each)
    for one, count in counts.items():
        yield {"n_texts": count} | json.loads(one)


def _outcomes(headers: Sequence[Mapping[str, Any]], records: Sequence[Record]) -> Outcomes:
    bits = np.array([record.flips for record in records], dtype=np.int64)
    return Outcomes(
        header={key: value for key, value in headers[0].items() if key not in _MACHINE},
        made_on=tuple(_made_on(headers)),
        numbers=np.array([record.number for record in records], dtype=np.int64),
        rows=np.array([record.row for record in records], dtype=np.int64),
        flips=(bits[:, :, None] >> np.arange(DEPTH) & 1).astype(np.bool_),
        start=np.array([record.start for record in records]) / 1000,
        probability=np.array([record.probability for record in records], dtype=np.float64) / 1000,
        eraser=np.array([record.eraser for record in records], dtype=np.float64),
        infidelity=np.array([record.infidelity or (np.nan, np.nan) for record in records], dtype=np.float64),
        queries=np.array([record.queries for record in records], dtype=np.int64),
        gradients=np.array([record.gradients for record in records], dtype=np.int64),
        seconds=np.array([record.seconds for record in records], dtype=np.float64),
        half=np.array([record.half for record in records], dtype=np.bool_),
        tops=tuple(record.order for record in records),
    )
