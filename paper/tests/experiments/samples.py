"""Records, written by hand, and the black box that they are of."""

import dataclasses
import json

import numpy as np

from mase_paper.experiments.journal import Journal
from mase_paper.experiments.records import COLUMNS, Record


def predict(texts):
    """Probabilities of dull and good, by weighted words with one interaction; the texts' order does not matter."""
    rows = []
    for text in texts:
        found = set(text.split())
        score = 1.5 * ("dull" in found) + ("slow" in found) - ("good" in found) - 0.5 * ("grand" in found)
        score += 0.7 * ({"plot", "end"} <= found) + 0.02 * len(found)
        rows.append([1 / (1 + np.exp(-score)), 1 / (1 + np.exp(score))])
    return np.array(rows)


def record(number=0, flips=(0, 0, 0), **changed):
    found = Record(
        number=number, row=7, words=20, target=1, order=(3, 1, 2), queries=1001, gradients=0, seconds=0.25, half=False,
        flips=flips, probability=(900, 500, 10, 0), start=950, eraser=(0.5, 0.1, -2.0), infidelity=(0.001, 0.25),
        areas=(0.3, 0.7),
    )  # fmt: skip
    return dataclasses.replace(found, **changed)


HEADER = {
    "schema": "mase.records/1", "target": "lstm-imdb", "spec": "mase", "operators": ["unk", "pad", "delete"],
    "model": {"sha256": "a"}, "data": {"split": "test", "sha256": "b"}, "text_seed": 0, "precision": "float32",
    "columns": list(COLUMNS),
    "command": "mase reproduce", "versions": {}, "hardware": {"processor": "p", "device": "cpu"},
    "method": {"name": "mase"},
}  # fmt: skip


def write(folder, target, name, flips, *, header=HEADER, first=0, **changed):
    """Write a journal whose texts from `first` on have these flips, under the first operator or (tuples) under each."""
    file = Journal(folder, header | {"target": target, "spec": name})
    for number, bits in enumerate(flips, start=first):
        file.append(record(number, bits if isinstance(bits, tuple) else (bits, 0, 0), **changed))
    file.close()


def bits(*ks):
    return sum(2 ** (k - 1) for k in ks)


def plain(found):
    """Return records by configuration and number, each with its header, as text that tells 0 from 0.0."""
    return {
        (configuration, number): (repr(one), json.dumps(records.headers[records.header_of[number]]))
        for configuration, records in found.items()
        for number, one in records.by_number.items()
    }
