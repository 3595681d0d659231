"""Tests of `mase.cli.output_files`."""

import json
import os
import stat
import subprocess

import pytest
from tests.unit.cli.runs import texts_in

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


@pytest.mark.parametrize(("option", "name"), [("-o", "out.jsonl"), ("--html", "page.html")])
def test_a_file_that_holds_something_is_not_touched(cli, tmp_path, monkeypatch, option, name):
    path = tmp_path / name
    path.write_text("mine")
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    found = cli("a good film", option, name)
    assert (found.exit_code, path.read_text()) == (1, "mine")
    assert name in found.stderr
    assert "--overwrite" in found.stderr
    assert ("--append" in found.stderr) == (option == "-o")
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_and_a_new_one_are_written(cli, tmp_path):
    (tmp_path / "empty.jsonl").touch()
    for name in ("empty.jsonl", "new.jsonl"):
        for policy in ([], ["--append"], ["--overwrite"]):
            (tmp_path / name).write_bytes(b"")
            assert cli("a good film", "-o", name, *policy).exit_code == 0
            assert texts_in(tmp_path / name) == ["a good film"]


@pytest.mark.parametrize(
    "arguments", [["--append", "--overwrite", "-o", "x.csv"], ["--append"], ["--append", "--html", "x"]]
)
def test_append_without_a_file_to_resume(cli, tmp_path, arguments):
    assert cli("a good film", *arguments).exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("earlier", ["missing", "empty", "results"])
@pytest.mark.parametrize(("option", "name"), [("-o", "mine.csv"), ("-o", "mine.jsonl"), ("--html", "mine.html")])
def test_append_replaces_no_other_file_unless_told_to(cli, tmp_path, option, name, earlier):
    """`--append` holds for the first file of JSON lines; any other file may be the user's own."""
    path, results = tmp_path / name, tmp_path / "out.jsonl"
    path.write_text("mine")
    if earlier == "empty":
        results.touch()
    elif earlier == "results":
        assert cli("a good film", "-o", "out.jsonl").exit_code == 0
    before = results.read_bytes() if results.exists() else None
    arguments = ("a good film", "a film", "-o", "out.jsonl", option, name, "--append")
    found = cli(*arguments)
    assert (found.exit_code, path.read_text()) == (1, "mine")
    assert name in found.stderr
    assert "--overwrite" in found.stderr
    assert (results.read_bytes() if results.exists() else None) == before
    assert cli(*arguments, "--overwrite").exit_code == 0
    assert results.read_bytes().startswith(before or b"{")
    assert texts_in(results) == ["a good film", "a film"]
    assert "film" in path.read_text(encoding="utf-8")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, "out.jsonl"])


def test_overwrite_replaces_at_the_end_and_keeps_permissions(cli, tmp_path, monkeypatch):
    from mase.explainer import Explainer

    path, call, seen = tmp_path / "out.jsonl", Explainer.__call__, []
    path.write_text("older\n")
    path.chmod(0o640)

    def watched(self, text, *, target=None, against=None):
        seen.append(path.read_text())
        seen.append(*(stat.S_IMODE(draft.stat().st_mode) for draft in tmp_path.iterdir() if draft != path))
        return call(self, text, target=target)

    monkeypatch.setattr(Explainer, "__call__", watched)
    assert cli("a good film", "a film", "-o", "out.jsonl", "--overwrite").exit_code == 0
    assert seen == ["older\n", 0o640] * 2
    assert texts_in(path) == ["a good film", "a film"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_overwrite_replaces_a_page(cli, tmp_path):
    (tmp_path / "page.html").write_text("older")
    assert cli("a good film", "--html", "page.html", "--overwrite").exit_code == 0
    assert "good" in (tmp_path / "page.html").read_text(encoding="utf-8")
    before = (tmp_path / "page.html").read_bytes()
    assert cli("crash", "--html", "page.html", "--overwrite").exit_code == 1
    assert (tmp_path / "page.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("policy", ["--append", "--overwrite"])
def test_a_link_stays_a_link(cli, tmp_path, policy):
    real, link = tmp_path / "folder" / "real.jsonl", tmp_path / "link.jsonl"
    real.parent.mkdir()
    link.symlink_to(real)
    assert cli("a good film", "-o", "link.jsonl").exit_code == 0
    assert cli("a good film", "a film", "-o", "link.jsonl", policy).exit_code == 0
    assert link.is_symlink()
    assert texts_in(real) == ["a good film", "a film"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "link.jsonl", "real.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (["a good film", "--target", "foo"], {}), (["a good film", "--method", "gradient"], {}),
        (["-i", "-"], {"input": ""}), (["-i", os.devnull], {}),
    ],
)  # fmt: skip
def test_an_older_result_outlives_a_run_without_a_result(cli, tmp_path, arguments, settings):
    (tmp_path / "out.jsonl").write_text("older")
    found = cli(*arguments, "-o", "out.jsonl", "--overwrite", **settings)
    assert (found.exit_code, (tmp_path / "out.jsonl").read_text()) == (1, "older")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert cli(*arguments, "-o", "new.jsonl", "--html", "new.html", **settings).exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_streams_are_written_whatever_the_policy(cli, tmp_path):
    for policy in ([], ["--append"], ["--overwrite"]):
        assert cli("a good film", "-o", os.devnull, "--html", os.devnull, *policy).exit_code == 0
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
            assert cli("a good film", "-o", "pipe", *policy).exit_code == 0
            assert json.loads(reader.communicate(timeout=600)[0])["document"][0]["text"] == "a good film"
        pipe.unlink()
