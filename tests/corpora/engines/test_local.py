"""Tests of worker processes: what they compute, what may kill them, and that they end with their driver."""

import os
import pickle
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tests.corpora.classifiers import judge
from tests.corpora.runs import TEXTS, explained, files, opened, run, tables

import mase
from mase.errors import OptionError, TextTimeoutError, WorkerError
from mase.sources.rows import Item
from mase_corpora import engines as pool
from mase_corpora.engines import Ready, Task
from mase_corpora.engines.local import Begun
from mase_corpora.worker import Recipe

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")

ROOT = Path(__file__).parents[3]
# A script without `if __name__ == "__main__"`, with its model in a module.
SCRIPT = """
from tests.corpora.runs import run
run({folder!r}, engine="local", jobs=1, model={model!r})
"""
# Opened by the workers.
CODE = "tests.corpora.classifiers:judge"


def wait_for(condition, seconds=240.0):
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


def test_each_text_fails_alone(capfd):
    texts = {0: "this one exits", 1: "a good film", 2: "this one hangs", 3: "this one raises", 4: "one interrupts"}
    tasks = [Task(row, [Item(row, str(row), text)]) for row, text in texts.items()]
    recipe = Recipe(opened, timeout=3.0)
    found = {event.task: event for event in explained("local", recipe, tasks) if not isinstance(event, Ready)}
    assert (found[0].row, found[2].row) == (0, 2)
    assert "exit code 3" in str(found[0].error)
    assert isinstance(found[2].error, TextTimeoutError)
    assert found[1].tables["texts"]["error"].to_pylist() == [None]
    assert found[3].tables["texts"]["error"].to_pylist() == ["ModelError"]
    assert found[4].tables["texts"]["error"].to_pylist() == ["KeyboardInterrupt"]
    assert found[4].tables["texts"]["message"].to_pylist() == ["the model raised it, without a message"]
    streams = capfd.readouterr()
    assert (streams.out, "Traceback" in streams.err) == ("", False)


def test_a_driver_that_reads_late_still_tells_a_timeout(monkeypatch):
    load = pickle.load

    def late(pipe):
        message = load(pipe)
        if isinstance(message, Begun):
            time.sleep(0.3)
        return message

    monkeypatch.setattr(pickle, "load", late)
    recipe = Recipe(partial(mase.Explainer, judge, n_samples=8), timeout=0.5)
    events = explained("local", recipe, [Task(0, [Item(0, "0", "this one hangs")])])
    (found,) = (event for event in events if not isinstance(event, Ready))
    assert isinstance(found.error, TextTimeoutError)


def test_a_run_survives_its_driver(tmp_path, expected):
    pids, folder = tmp_path / "pids", tmp_path / "run"
    pids.mkdir()
    environment = os.environ | {"MASE_TEST_PAUSE": str(pids), "PYTHONPATH": os.pathsep.join(sys.path)}
    for number, code, text in ((signal.SIGTERM, 143, "number 6"), (signal.SIGKILL, -9, "number 14")):
        (pids / "hang").write_text(text)
        n_before = len(list(folder.glob("texts/part*")))
        script = SCRIPT.format(folder=str(folder), model=CODE)
        driver = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment)
        wait_for(lambda n=n_before: (pids / "hangs").exists() and len(list(folder.glob("texts/part*"))) > n)
        driver.send_signal(number)
        assert driver.wait(240) == code
        (pids / "hangs").unlink()
        workers = [int(path.name) for path in pids.iterdir() if path.name != "hang"]
        assert workers
        assert driver.pid not in workers
        wait_for(lambda pids=workers: not any(map(is_running, pids)))
        assert list(folder.glob("locks/*.json")) == (
            [] if number == signal.SIGTERM else [folder / "locks" / "run.json"]
        )
        assert len(list(folder.glob("texts/part*"))) < 5
    made = run(folder, model=CODE)
    assert made.manifest.asked.model["name"] == CODE
    assert tables(files(folder)) == tables(expected)


def test_an_error_of_opening_is_the_callers(tmp_path):
    with pytest.raises(OptionError, match="n_samples"):
        mase.run(TEXTS, tmp_path / "run", model=CODE, jobs=1, n_samples=-1)
    assert not (tmp_path / "run").exists()


def test_a_model_that_ends_its_workers_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "MOST_FAILED_STARTS", 3)
    (tmp_path / "model.py").write_text("import os; os._exit(7)")
    with pytest.raises(WorkerError, match=r"^3 workers ended .* exit code 7\)"):
        mase.run(TEXTS, tmp_path / "run", model=f"{tmp_path / 'model.py'}:model", jobs=1)
    assert not (tmp_path / "run").exists()
