"""Hostile tables and files of texts."""

import numpy as np
import pytest

from tests.hostile import process, streams
from tests.hostile.process import Limits
from tests.hostile.tables import TABLES

LIMITS = Limits(seconds=60, memory=2 << 30)


def judged(name, folder):
    """Judge a table: as many results as it must give, or a refusal; the file is as it was."""
    table = TABLES[name]
    path, content = folder / table.name, table.bytes()
    path.write_bytes(content)
    arguments = ["explain", "-i", path, "-m", "lstm-imdb", "--json", "--n-samples", "16", *table.arguments]
    ran = process.mase(*arguments, scratch=folder / "streams", limits=LIMITS)
    verdict = streams.complaint(ran, table.results)
    if verdict is None and table.results is None and (ran.code == 0 or b"mase.attribution" in ran.out):
        verdict = f"was read: {ran.out[:200]!r}"
    if verdict is None and table.results is not None and not ran.out:
        verdict = f"was refused: {ran.err[-300:]}"
    return verdict or ("the file was changed" if path.read_bytes() != content else None)


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(TABLES))
def test_tables(name, tmp_path, judge):
    if "Parquet" in name:
        pytest.importorskip("pyarrow")
    judge([(name, judged(name, tmp_path))])


def test_a_sample_of_tables(tmp_path, judge):
    small = [name for name in TABLES if "MB" not in name]
    judge([(name, judged(name, tmp_path)) for name in np.random.default_rng(16).choice(small, 6, replace=False)])
