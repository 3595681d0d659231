"""Hostile tables and files of texts."""

import numpy as np
import pytest

from tests.hostile import process, streams
from tests.hostile.process import Limits
from tests.hostile.tables import RUN_TABLES, TABLES

LIMITS = Limits(seconds=60, memory=2 << 30)
# A text of 20 million words has taken up to 102 seconds on a busy machine, with `mase explain` as well.
RUN_LIMITS = Limits(seconds=300, memory=2 << 30)


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


def judged_run(name, folder):
    """Judge a table as the input of `mase run`: as many rows as it must give, or a refusal that leaves no run."""
    import mase

    table = RUN_TABLES[name]
    path, content, output = folder / table.name, table.bytes(), folder / "run"
    path.write_bytes(content)
    arguments = ["run", path, "-o", output, "-m", "lstm-imdb", "--engine", "here", "-q", "--n-samples", "16"]
    ran = process.mase(*arguments, *table.arguments, scratch=folder / "streams", limits=RUN_LIMITS)
    told = [line for line in ran.err.splitlines() if " finished" not in line]
    if ran.code not in (0, 1) or not all(line.startswith("mase: error: ") for line in told) or ran.out:
        return f"exit code {ran.code}: {ran.err[-1000:]}"
    if path.read_bytes() != content:
        return "the file was changed"
    if table.results is None:
        return "was read" if output.exists() or ran.code == 0 else None
    texts = mase.open_run(output).texts()
    failed = len(texts) - texts["error"].null_count
    if (len(texts), bool(failed)) != (table.results, ran.code == 1):
        return f"{len(texts)} rows, {failed} failed, exit code {ran.code}: {ran.err[-300:]}"
    return None


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(RUN_TABLES))
def test_tables_of_runs(name, tmp_path, judge):
    pytest.importorskip("pyarrow")
    judge([(name, judged_run(name, tmp_path))])
