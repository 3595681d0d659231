"""Records, written by hand, and the black box that they are of."""

import dataclasses

import numpy as np

from mase_paper.experiments.records import COLUMNS, Record
from mase_paper.experiments.store import RecordFile, record_path


def judge(texts):
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
        flips=flips, chance=(900, 500, 10, 0), start=950, eraser=(0.5, 0.1, -2.0), infidelity=(0.001, 0.25),
    )  # fmt: skip
    return dataclasses.replace(found, **changed)


HEADER = {
    "schema": "mase.records/1", "target": "lstm-imdb", "spec": "mase", "operators": ["unk", "pad", "delete"],
    "model": {"sha256": "a"}, "data": {"split": "test", "sha256": "b"}, "text_seed": 0, "precision": "float32",
    "columns": list(COLUMNS),
    "command": "mase reproduce", "versions": {}, "hardware": {"processor": "p", "device": "cpu"}, "method": {"name": "mase"},
}  # fmt: skip


def write(folder, target, name, flips, *, header=HEADER, **changed):
    """Write a record file whose texts 0, 1, ... have these flips (integers) under the first operator and none elsewhere."""
    file = RecordFile(record_path(folder, target, name), header | {"target": target, "spec": name})
    for number, bits in enumerate(flips):
        file.append(record(number, (bits, 0, 0), **changed))
    file.close()


def bits(*ks):
    return sum(2 ** (k - 1) for k in ks)
