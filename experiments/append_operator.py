"""Add a masking operator to existing records without explaining anything again.

A record holds the order of the words with the highest scores, which is all that masking needs. Upper bounds are
searched again. The result equals what the command in the header writes once `mase_paper.experiments.testbeds` has the
operator.

    python experiments/append_operator.py zero DATA_DIR experiments/results/records bert-imdb
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from mase.datasets import Split
from mase.datasets import load as load_split
from mase.metrics.masking import Masker, Operator, masker
from mase.metrics.ranking import without_top
from mase.models import load as load_model
from mase.models.protocol import Model
from mase.models.runtime import configure
from mase.platforms import locked
from mase_paper.experiments.columns import columns_path, load, save
from mase_paper.experiments.records import DEPTH, Record, Records, bits
from mase_paper.experiments.store import compact
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS, search

_KS = tuple(range(1, DEPTH + 1))


def main() -> None:
    """Rewrite the records of one target and split, named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("operator", "data_dir", "folder", "target"):
        parser.add_argument(name)
    args = parser.parse_args()
    operator, data_dir, folder, target = args.operator, args.data_dir, Path(args.folder), args.target
    compact(folder, target)
    with locked(folder):
        path = columns_path(folder, target)
        found = load(path)
        heads = [head for records in found.values() for head in records.headers]
        (of_split,) = {head["data"]["split"] for head in heads}
        assert all([*head["operators"][1:], operator] == [*TARGETS[target].operators[1:]] for head in heads)
        configure(1)
        flips = _flips(found, load_model(target), load_split(TARGETS[target].dataset, of_split, data_dir), operator)
        save(
            path,
            {
                configuration: _appended(records, operator, flips[configuration])
                for configuration, records in found.items()
            },
        )


def _flips(found: Mapping[str, Records], model: Model, split: Split, operator: Operator) -> dict[str, dict[int, int]]:
    """Return the flips of every record as bits. Methods that mask the same words of a text share the evaluations."""
    by_text: dict[tuple[int, int], list[tuple[str, Record]]] = defaultdict(list)
    for configuration, records in found.items():
        for record in records.by_number.values():
            by_text[record.row, record.target].append((configuration, record))
    flips: dict[str, dict[int, int]] = defaultdict(dict)
    for (row, target), wanted in sorted(by_text.items()):
        bound = masker(model, split.texts[row], operator, "wordpunct")
        explained = [(configuration, record) for configuration, record in wanted if record.probability]
        if explained:
            rows = np.concatenate([_without_top(bound, record) for _, record in explained])
            flipped = bound.flipped(bound.probabilities(rows), target).reshape(-1, DEPTH)
            for (configuration, record), flags in zip(explained, flipped, strict=True):
                flips[configuration][record.number] = bits(flags)
        for configuration, record in wanted:
            if not record.probability:
                one = search(bound, target, DEPTH, UPPER_BOUNDS[found[configuration].headers[0]["method"]["name"]])
                flips[configuration][record.number] = bits(one.flips(DEPTH))
        sys.stderr.write(f"text {row}: {len(wanted)} records\n")
    return flips


def _without_top(bound: Masker, record: Record) -> np.ndarray:
    rest = np.setdiff1d(np.arange(len(bound.words)), record.order)
    return without_top(np.concatenate([record.order, rest]).astype(np.int64), _KS)


def _appended(records: Records, operator: Operator, flips: Mapping[int, int]) -> Records:
    headers = [head | {"operators": [*head["operators"], operator]} for head in records.headers]
    by_number = {n: replace(one, flips=(*one.flips, flips[n])) for n, one in records.by_number.items()}
    return Records(tuple(headers), by_number, records.header_of)


if __name__ == "__main__":
    main()
