"""Runs for the tests: texts, and the bytes of the files that no two runs may differ in."""

from pathlib import Path

from tests.unit.corpus.classifiers import judge

import mase
from mase.corpus.columns import COMPARED

TEXTS = [f"a {word} film number {number}" for number, word in enumerate(("good", "dull", "superb", "plain") * 5)]


def run(folder, texts=TEXTS, **options):
    """Run with small parts in this process, unless the options say otherwise."""
    return mase.run(texts, folder, **{"model": judge, "engine": "here", "n_samples": 8, "part_size": 4} | options)


def files(folder):
    """Return the bytes of all files of tables that runs have in common, by name."""
    found = [path for table in COMPARED for path in sorted((Path(folder) / table).iterdir())]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
