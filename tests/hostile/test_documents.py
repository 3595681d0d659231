"""Hostile tables of documents: a result or a failure for each row, or a refusal."""

import numpy as np
import pytest

from tests.hostile import process, streams
from tests.hostile.documents import DOCUMENTS
from tests.hostile.process import Limits

LIMITS = Limits(seconds=120, memory=2 << 30)


def judged(name, folder):
    """Judge `mase explain` and `mase run` on a table: what one makes of a row, the other does, too."""
    import mase

    table = DOCUMENTS[name]
    folder = folder / "case"
    folder.mkdir(exist_ok=True)
    path, content, output = folder / table.name, table.bytes(), folder / "run"
    path.write_bytes(content)
    settings = ["--n-samples", "16", *table.arguments]
    told = process.mase("explain", "-i", path, "--json", *settings, scratch=folder / "streams", limits=LIMITS)
    ran = process.mase(
        "run", path, "-o", output, "--engine", "here", "-q", *settings, scratch=folder / "more", limits=LIMITS
    )
    if path.read_bytes() != content:
        return "the file was changed"
    if table.results is None:
        both = {(one.code in (1, 2), b"mase.attribution" in one.out) for one in (told, ran)}
        return None if both == {(True, False)} and not output.exists() else f"was read: {told.err} {ran.err}"
    complaint = streams.complaint(told, table.results)
    if complaint is not None:
        return complaint
    if ran.code not in (0, 1) or not output.exists():
        return f"exit code {ran.code}: {ran.err[-500:]}"
    errors = mase.open_run(output).texts()["error"]
    failed = told.out.count(b'"mase.error/1"')
    n_failed = len(errors) - errors.null_count
    return None if (len(errors), n_failed) == (table.results, failed) else f"{n_failed} and {failed} rows failed"


@pytest.mark.hostile
@pytest.mark.parametrize("name", list(DOCUMENTS))
def test_documents(name, tmp_path, judge):
    pytest.importorskip("pyarrow")
    judge([(name, judged(name, tmp_path))])


def test_a_sample_of_documents(tmp_path, judge):
    pytest.importorskip("pyarrow")
    name = np.random.default_rng(19).choice([name for name in DOCUMENTS if "MB" not in name])
    judge([(name, judged(str(name), tmp_path))])
