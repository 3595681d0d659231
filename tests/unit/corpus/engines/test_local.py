"""Tests of worker processes: what they compute, what may kill them, and that they end with their driver."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.corpus.classifiers import judge
from tests.unit.corpus.runs import TEXTS, files, run

import mase
from mase.errors import OptionError, WorkerError

ROOT = Path(__file__).parents[4]
# A script without `if __name__ == "__main__"`, with its model in a module.
SCRIPT = """
from tests.unit.corpus.runs import run
run({folder!r}, engine="local", jobs=1)
"""


def wait_for(condition, seconds=30.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_each_text_fails_alone_and_the_others_are_as_expected(tmp_path, expected, capfd):
    bad = {5: "this one exits", 9: "this one hangs", 14: "this one raises"}
    texts = [bad.get(number, text) for number, text in enumerate(TEXTS)]
    made = run(tmp_path / "run", texts, engine="local", jobs=2, timeout=1.5)
    rows = made.texts().to_pylist()
    assert {row["row"]: row["error"] for row in rows if row["error"]} == {
        5: "WorkerError", 9: "TextTimeoutError", 14: "ModelError",
    }  # fmt: skip
    assert "exit code 3" in rows[5]["message"]
    assert "1.5 s" in rows[9]["message"]
    got = files(tmp_path / "run")
    untouched = [name for name in expected if name.endswith(("part-00000.parquet", "part-00004.parquet"))]
    assert len(untouched) == 6
    assert all(got[name] == expected[name] for name in untouched)
    assert capfd.readouterr().out == ""


def test_a_run_survives_its_driver(tmp_path, expected):
    pids, folder = tmp_path / "pids", tmp_path / "run"
    pids.mkdir()
    environment = os.environ | {"MASE_TEST_PAUSE": str(pids), "PYTHONPATH": os.pathsep.join(sys.path)}
    for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        n_before = len(list(folder.glob("texts/part*")))
        driver = subprocess.Popen([sys.executable, "-c", SCRIPT.format(folder=str(folder))], cwd=ROOT, env=environment)
        wait_for(lambda n=n_before: len(list(folder.glob("texts/part*"))) > n)
        (pids / "hang").touch()
        time.sleep(0.1)
        driver.send_signal(number)
        assert driver.wait(10) == code
        (pids / "hang").unlink()
        workers = [int(path.name) for path in pids.iterdir()]
        assert workers
        assert driver.pid not in workers
        wait_for(lambda pids=workers: not any(map(is_running, pids)), 5.0)
        assert list(folder.glob("locks/*.json")) == (
            [] if number == signal.SIGTERM else [folder / "locks" / "run.json"]
        )
        assert len(list(folder.glob("texts/part*"))) < 5
    run(folder)
    assert files(folder) == expected


def test_an_error_of_opening_is_the_callers(tmp_path):
    with pytest.raises(OptionError, match="n_samples"):
        mase.run(TEXTS, tmp_path / "run", model="tests.unit.corpus.classifiers:judge", jobs=1, n_samples=-1)
    assert not (tmp_path / "run").exists()


def test_a_model_that_ends_its_workers_ends_the_run(tmp_path):
    (tmp_path / "model.py").write_text("import os; os._exit(7)")
    with pytest.raises(WorkerError, match="exit code 7"):
        mase.run(TEXTS, tmp_path / "run", model=f"{tmp_path / 'model.py'}:model", jobs=1)
    assert not (tmp_path / "run").exists()


def test_code_is_opened_by_the_workers(tmp_path):
    made = run(tmp_path / "run", TEXTS[:2], model="tests.unit.corpus.classifiers:judge", engine="local", jobs=1)
    assert made.manifest.asked.model["name"] == "tests.unit.corpus.classifiers:judge"
    assert made.units()["score"].to_pylist() == [
        score for text in TEXTS[:2] for score in mase.Explainer(judge, n_samples=8)(text).scores.tolist()
    ]
