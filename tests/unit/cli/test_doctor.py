"""Tests of `mase.cli.doctor`."""

import json

import pytest
from click.testing import CliRunner

from mase.cli import main


def test_doctor():
    found = CliRunner().invoke(main, ["doctor", "-m", "lstm-imdb"])
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.splitlines()[0] == "lstm-imdb"
    assert "after 80 tokens" in found.stdout
    assert "guessed" not in found.stdout


def test_doctor_of_code_says_what_to_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("def predict(texts):\n    return [[0.5, 0.5] for _ in texts]\n")
    shown = CliRunner().invoke(main, ["doctor", "-m", "own.py:predict", "--text", "just this"])
    assert (shown.exit_code, "labels=[...]" in shown.stdout) == (0, True)
    found = CliRunner().invoke(main, ["doctor", "-m", "own.py:predict", "--text", "just this", "--json"])
    plain = json.loads(found.stdout)
    assert (plain["name"], [speed["n_units"] for speed in plain["speeds"]]) == ("own.py:predict", [2])
    assert plain["guesses"][0]["remedy"]


def test_doctor_of_a_broken_model_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("def predict(texts):\n    raise OSError('no weights')\n")
    found = CliRunner().invoke(main, ["doctor", "-m", "broken.py:predict"])
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    assert "no weights" in found.stderr


@pytest.mark.parametrize("given", [b"caf\xe9\n", b"caf\xe9\na good film\n"])
def test_a_file_without_a_text_that_can_be_read_is_an_error(tmp_path, given):
    (tmp_path / "a.txt").write_bytes(given)
    found = CliRunner().invoke(main, ["doctor", "-m", "lstm-imdb", "-i", str(tmp_path / "a.txt")])
    is_read = b"film" in given
    assert (found.exit_code, bool(found.stdout), "not UTF-8" in found.stderr) == (
        0 if is_read else 1,
        is_read,
        not is_read,
    )
