"""Tests of `mase.cli.streams`."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mase.io.json import load_many

ROOT = Path(__file__).parents[3]


GOOD, BAD = "a good film", "a dull film"


PATIENCE = 600  # seconds until a process counts as one that hangs, also on a machine that is busy


SLOW = """
import signal, sys, time, mase
from mase.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits it ignored
def predict(texts):
    time.sleep(0.005)
    return [[0.5, 0.5]] * len(texts)
mase.models.load = lambda *a, **k: mase.models.Callable(predict, labels=["neg", "pos"])
main(sys.argv[1:])
"""


def slow(*arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, "explain", "--n-samples", "32", *arguments], text=True, **settings
    )


@pytest.mark.parametrize(("text", "closed", "code"), [("", "<&-", 2), (GOOD, ">&-", 0), (GOOD, ">&- 2>&-", 0)])
def test_streams_that_the_caller_closed(text, closed, code):
    """As some schedulers start their processes."""
    arguments = ["explain", *([text] if text else []), "--n-samples", "32"]
    line = f"{shlex.join([sys.executable, '-c', SLOW, *arguments])} {closed}"
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "Traceback" not in found.stderr
    assert found.returncode == code, found.stderr


def test_control_c_exits_130_and_keeps_what_was_written(tmp_path):
    source, output = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("a good film\n" * 5000)
    with slow("-i", str(source), "-q", "-o", str(output), stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + PATIENCE
        while (not output.exists() or output.read_bytes().count(b"\n") < 3) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert len(load_many(output)) >= 3


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_reader_that_leaves_early_is_no_error(tmp_path, arguments):
    source = tmp_path / "in.txt"
    source.write_text("a good film\n" * 500)
    with slow("-i", str(source), *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=PATIENCE)
    assert process.returncode == 141
    assert "Traceback" not in errors
    assert "Broken" not in errors


FULL = Path("/dev/full")


on_a_full_disk = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")


@on_a_full_disk
@pytest.mark.parametrize("arguments", [["methods"], ["--help"], ["explain", GOOD], ["explain", GOOD, "--json"]])
def test_a_full_disk_under_standard_output_is_one_line(arguments):
    with FULL.open("w") as full:
        found = subprocess.run(
            [sys.executable, "-c", SLOW, *arguments, *(["--n-samples", "32"] if GOOD in arguments else [])],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": ""},  # what is not written is flushed once more when Python ends
        )  # fmt: skip
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("mase: error: ")
    assert all(part in found.stderr for part in ("standard output", "No space left on device"))


@on_a_full_disk
@pytest.mark.parametrize("option", ["-o", "--html"])
def test_a_full_disk_under_a_file_is_one_line(mase_cli, option):
    found = mase_cli(GOOD, "-q", option, str(FULL))
    assert found.exit_code == 1
    assert found.stderr.startswith("mase: error: ")
    assert found.stderr.count("\n") == 1
    assert all(part in found.stderr for part in ("'/dev/full'", "No space left on device"))


SOME_ARE_BAD = f"{GOOD}\n\n{BAD}\n"  # the second text has no word, which is told on standard error


@on_a_full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_that_cannot_be_written_cost_no_results(tmp_path, unbuffered):
    source, output, page = (tmp_path / name for name in ("in.txt", "out.jsonl", "page.html"))
    source.write_text(SOME_ARE_BAD)
    with FULL.open("w") as full:
        settings = {"stdout": subprocess.PIPE, "stderr": full, "env": os.environ | {"PYTHONUNBUFFERED": unbuffered}}
        with slow("-i", str(source), "--json", "-o", str(output), "--html", str(page), **settings) as process:
            shown, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1  # for the bad text
    assert shown == output.read_text()
    assert len(load_many(output)) == 3
    assert "2 texts explained" in page.read_text(encoding="utf-8")


@on_a_full_disk
def test_an_option_that_is_unknown_has_its_code_where_no_message_can_be_written():
    with FULL.open("w") as full, slow("--unknown", stderr=full) as process:
        assert process.wait(timeout=PATIENCE) == 2


def test_a_reader_of_messages_that_leaves_costs_no_results(tmp_path):
    """As in `mase explain ... 2>&1 >results | head -1`."""
    source = tmp_path / "in.txt"
    source.write_text(SOME_ARE_BAD)
    with slow("-i", str(source), "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stderr.close()
        assert process.stdout.read().count("\n") == 3
    assert process.wait(timeout=PATIENCE) == 1


EVALUATION = """
import sys, time
from mase.models import Callable
from mase.cli import main
n_calls = 0
def predict(texts):
    global n_calls
    n_calls += 1
    if n_calls == 100:
        print("waiting", file=sys.stderr, flush=True)
        time.sleep(600)
    return [[0.5, 0.5] for _ in texts]
import mase.models
mase.models.load = lambda *a, **k: Callable(predict, labels=["neg", "pos"])
main(sys.argv[1:])
"""


def test_an_evaluation_whose_output_was_the_terminal_that_is_closed(tmp_path):
    """Its tables have no reader, and that it was ended is what its code says."""
    source, output = tmp_path / "in.csv", tmp_path / "out.json"
    source.write_text("text\n" + f"{GOOD}\n" * 100)
    ours, theirs = os.openpty()
    arguments = ["evaluate", "-i", str(source), "--methods", "random", "-o", str(output)]
    with subprocess.Popen(
        [sys.executable, "-c", EVALUATION, *arguments], stdout=theirs, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(theirs)
        while "waiting" not in process.stderr.readline():
            assert process.poll() is None
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        errors = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 143, errors
    assert json.loads(output.read_text())["rows"]


def test_characters_that_standard_output_cannot_encode_are_escaped(tmp_path):
    """As where the results of a command go to a file on Windows."""
    (tmp_path / "model.py").write_text(
        "import mase\n"
        "def predict(texts):\n    return [[0.5, 0.5]] * len(texts)\n"
        "model = mase.models.Callable(predict, labels=['плохо', 'café 😀'])\n",
        encoding="utf-8",
    )
    name = f"{tmp_path / 'model.py'}:model"
    settings = {**os.environ, "PYTHONIOENCODING": "latin-1"}

    def mase(*arguments):
        whole = [sys.executable, "-m", "mase", *arguments]
        found = subprocess.run(whole, capture_output=True, check=True, env=settings, cwd=tmp_path)
        return found.stdout.decode("latin-1")

    assert "плохо" in json.loads(mase("doctor", "-m", name, "--json").encode())["labels"]
    (tmp_path / "texts.txt").write_text("a good film\n", encoding="utf-8")
    mase("run", "texts.txt", "-m", name, "-o", "größe-длина", "--engine", "here", "--n-samples", "16", "-q")
    assert ascii("длина")[1:-1] in mase("compare", "größe-длина", "größe-длина")
