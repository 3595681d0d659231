"""Records as arrays: the outcomes of one configuration on the first n texts of a target."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.methods import Configuration
from mase_paper.experiments.records import DEPTH, Record, Records
from mase_paper.experiments.store import read

__all__ = ["Outcomes", "gather"]

# Header fields that may differ between the records of a configuration: a later run may use another machine.
_MACHINE = ("hardware", "versions")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of one configuration on n texts, with m masking operators.

    Attributes
    ----------
    header
        What the records have in common: their method and settings, weights and data.
    made_on
        The machines and versions, with the number of texts of each.
    numbers, rows
        `(n,)`: the numbers of the texts, ascending, and their rows in the split.
    flips
        `(n, m, DEPTH)`: whether the prediction changed when the top 1, 2, ... words were masked.
    start, probability
        `(n,)` and `(n, 4)`: the target's probability for the text, and with its top 1, 5, 10 and 15 words masked by the
        first operator. The latter is `(n, 0)` for an upper bound.
    eraser
        `(n, 3)`: comprehensiveness, sufficiency and log-odds; `(n, 0)` for an upper bound.
    infidelity
        `(n, 2)`: scaled and unexplained; NaN for texts without it.
    areas
        `(n, 2)`: deletion and insertion; NaN for texts without them.
    queries, gradients, seconds
        `(n,)`: cost per text.
    top_words
        The words with the highest scores of each text, best first, at most `DEPTH`.
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
    areas: Floats
    queries: Ints
    gradients: Ints
    seconds: Floats
    half: Bools
    top_words: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def common(self, other: "Outcomes") -> tuple[Ints, Ints]:
        """Return the indices `(c,)`, in this one and in the other, of the texts that both have.

        Texts are the same if both number and row agree. On another device a borderline prediction may differ, and then
        the texts after it have other numbers.
        """
        _, here, there = np.intersect1d(self.numbers, other.numbers, assume_unique=True, return_indices=True)
        same = self.rows[here] == other.rows[there]
        here, there = here[same], there[same]
        return here.astype(np.int64), there.astype(np.int64)


def gather(folder: Path, target: str, texts: Mapping[Configuration, range]) -> dict[Configuration, Outcomes]:
    """Return the outcomes of each configuration on the texts of the numbers `texts[configuration]` that it
    explained.
    """
    known, outcomes = read(folder, target, {str(configuration) for configuration in texts}), {}
    for configuration, numbers in texts.items():
        records = known.get(str(configuration), Records())
        chosen = [record for number, record in sorted(records.by_number.items()) if number in numbers]
        if chosen:
            headers = [records.headers[records.header_of[record.number]] for record in chosen]
            outcomes[configuration] = _outcomes(headers, chosen)
    return outcomes


def _made_on(headers: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield each machine with its versions once, with its number of texts."""
    machines = [{key: header[key] for key in _MACHINE} for header in headers]
    counts = Counter(json.dumps(machine, sort_keys=True) for machine in machines)
    for item, count in counts.items():
        yield {"n_texts": count} | json.loads(item)


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
        areas=np.array([record.areas or (np.nan, np.nan) for record in records], dtype=np.float64),
        queries=np.array([record.queries for record in records], dtype=np.int64),
        gradients=np.array([record.gradients for record in records], dtype=np.int64),
        seconds=np.array([record.seconds for record in records], dtype=np.float64),
        half=np.array([record.half for record in records], dtype=np.bool_),
        top_words=tuple(record.order for record in records),
    )
