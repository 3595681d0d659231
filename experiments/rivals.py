"""Copy the records of all explainers but `mase` to the folder of the comparison with the present default.

Each default of `mase` explains texts anew. The records of the other methods, some of them of version 0.1.0, still hold:
their results have changed only by rounding. This copies them, on the first texts of each target. It keeps the records
that the new folder alone has, or has of more texts: of `mase`, of searches, and of rivals under the margin.

    python experiments/rivals.py

Then `mase reproduce faithfulness --methods mase ... --output experiments/faithfulness` explains texts with the present
default, and `mase reproduce faithfulness --report-only --output experiments/faithfulness` writes the page.
"""

from dataclasses import replace
from pathlib import Path

from mase.configuration import parse
from mase_paper.experiments.columns import columns_path, load, save
from mase_paper.experiments.faithfulness import FAITHFULNESS
from mase_paper.experiments.records import Record, Records, merged
from mase_paper.experiments.testbeds import PAPER, TARGETS

HERE = Path(__file__).parent
SOURCE, COPY = HERE / "results" / "records", HERE / "faithfulness" / "records"


def is_rival(configuration: str) -> bool:
    """Return whether a configuration is in the comparison, with any seed, and its method is not `mase`."""
    found = replace(parse(configuration), seed=0)
    return found.method != "mase" and str(found) in FAITHFULNESS.methods


def first(records: Records, n: int) -> Records:
    """Return the records of the first n texts, with the headers that these have."""
    by_header: dict[int, dict[int, Record]] = {}
    for number, record in records.by_number.items():
        if number < n:
            by_header.setdefault(records.header_of[number], {})[number] = record
    parts = (Records((records.headers[one],), some, dict.fromkeys(some, 0)) for one, some in by_header.items())
    return merged(parts)


def n_texts(records: Records | None) -> int:
    """Return the number of texts of some records."""
    return 0 if records is None else len(records.by_number)


def main() -> None:
    """Write the columns of each target."""
    COPY.mkdir(parents=True, exist_ok=True)
    for name in PAPER:
        found = load(columns_path(SOURCE, name))
        rivals = {one: first(records, TARGETS[name].n_study) for one, records in found.items() if is_rival(one)}
        there = load(columns_path(COPY, name))
        kept = {one: records for one, records in there.items() if n_texts(records) > n_texts(rivals.get(one))}
        save(columns_path(COPY, name), rivals | kept)


if __name__ == "__main__":
    main()
