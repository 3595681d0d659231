"""The default of today minus that of the seventh confirmation on the same texts of the LSTMs, from committed records.

    python experiments/against_seventh.py

Mean Delta Accuracy over k = 1..15 of `mase`, and sufficiency of `mase-rationale`, with paired bootstrap intervals.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

HERE = Path(__file__).parent


def records(folder: str, target: str, method: str) -> dict[int, dict[str, Any]]:
    """Return the records of a method by the number of the text."""
    rows = pq.read_table(HERE / folder / "records" / f"{target}.parquet").to_pylist()
    return {row["number"]: row for row in rows if row["spec"] == method}


def delta_accuracy(record: dict[str, Any]) -> float:
    """Return the share of k = 1..15 at which the prediction flips, masked by the model's own token."""
    return int(record["flips"][0]).bit_count() / 15


def sufficiency(record: dict[str, Any]) -> float:
    """Return the sufficiency of a text."""
    return float(record["eraser"][1])


def main() -> None:
    """Print the differences."""
    for target in ("lstm-imdb", "lstm-reuters"):
        for method, before, measure in (
            ("mase", "seventh-confirmation", delta_accuracy),
            ("mase-rationale", "seventh-rationale", sufficiency),
        ):
            old, new = records(before, target, method), records("eighth-confirmation", target, method)
            change = np.array([measure(new[number]) - measure(old[number]) for number in sorted(old.keys() & new)])
            drawn = np.random.default_rng(0).choice(change, (10_000, len(change))).mean(axis=1)
            low, high = np.percentile(drawn, [2.5, 97.5])
            sys.stdout.write(
                f"{target}, {method}, {measure.__name__}, {len(change)} texts: {change.mean():+.4f} "
                f"[{low:+.4f}, {high:+.4f}]\n"
            )


if __name__ == "__main__":
    main()
