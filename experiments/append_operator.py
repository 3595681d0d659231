"""Add one more masking operator to records that were made without it, without explaining anything again.

A record holds the order of its highest words, which is all that masking needs; a ceiling searches anew. What it writes
is what the command in the header writes since `mase_paper.experiments.testbeds` has that operator.

    python experiments/append_operator.py zero DATA_DIR experiments/results/records/bert-imdb/*.jsonl.gz
"""

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from mase.datasets import Split
from mase.datasets import load as load_split
from mase.files import write_text
from mase.metrics.masking import Masker, masker
from mase.metrics.ranking import without_top
from mase.models import load
from mase.models.runtime import settle
from mase_paper.experiments.ceiling import CEILINGS, search
from mase_paper.experiments.records import DEPTH, Record, bits, dumps
from mase_paper.experiments.store import Records, pack, read
from mase_paper.experiments.testbeds import TARGETS

_KS = tuple(range(1, DEPTH + 1))


def main() -> None:
    """Rewrite the files named on the command line, all of one target and split."""
    operator, data_dir, *names = sys.argv[1:]
    paths = [Path(name.removesuffix(".gz")) for name in names]
    files = {path: read(path) for path in paths}
    heads = [head for file in files.values() for head in file.headers]
    ((target, of_split),) = {(head["target"], head["data"]["split"]) for head in heads}
    assert all(
        [*head["operators"], operator] == [head["operators"][0], *TARGETS[target].operators[1:]] for head in heads
    )
    settle(1)
    found = _flips(files, load(target), load_split(TARGETS[target].dataset, of_split, data_dir), operator)
    for path, file in files.items():
        write_text(path, _lines(file, operator, found[path]))
        path.with_name(f"{path.name}.gz").unlink(missing_ok=True)
        pack(path)


def _flips(files: dict[Path, Records], model, split: Split, operator: str) -> dict[Path, dict[int, int]]:
    """Return the flips of every record as bits, text by text: methods that take the same words out ask the model once."""
    by_text: dict[tuple[int, int], list[tuple[Path, Record]]] = defaultdict(list)
    for path, file in files.items():
        for record in file.by_number.values():
            by_text[record.row, record.target].append((path, record))
    found: dict[Path, dict[int, int]] = defaultdict(dict)
    for (row, target), wanted in sorted(by_text.items()):
        bound = masker(model, split.texts[row], operator)
        explained = [(path, record) for path, record in wanted if record.chance]
        if explained:
            rows = np.concatenate([_without_top(bound, record) for _, record in explained])
            flipped = bound.flipped(bound.probabilities(rows), target).reshape(-1, DEPTH)
            for (path, record), flags in zip(explained, flipped, strict=True):
                found[path][record.number] = bits(flags)
        for path, record in wanted:
            if not record.chance:
                one = search(bound, target, DEPTH, CEILINGS[files[path].headers[0]["method"]["name"]])
                found[path][record.number] = bits(one.flips(DEPTH))
        sys.stderr.write(f"text {row}: {len(wanted)} records\n")
    return found


def _without_top(bound: Masker, record: Record) -> np.ndarray:
    rest = np.setdiff1d(np.arange(len(bound.words)), record.order)
    return without_top(np.concatenate([record.order, rest]).astype(np.int64), _KS)


def _lines(file: Records, operator: str, flips: dict[int, int]) -> str:
    parts = []
    for index, head in enumerate(file.headers):
        parts.append(json.dumps(head | {"operators": [*head["operators"], operator]}, sort_keys=True) + "\n")
        parts += [
            dumps(replace(record, flips=(*record.flips, flips[number])))
            for number, record in file.by_number.items()
            if file.header_of[number] == index
        ]
    return "".join(parts)


if __name__ == "__main__":
    main()
