"""Tests of `mase.cli.files`."""

import csv
import json
import os
import resource
import signal
import stat
import subprocess
import time
from contextlib import contextmanager

import pytest
from tests.unit.cli.runs import NUMBERED, finished, process, same, texts_in

from mase.outputs.formats import HtmlPage

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_each_file_has_the_form_of_its_suffix(cli, source, tmp_path):
    files = ["-o", "out.csv", "-o", "out.jsonl", "-o", "out.txt", "-o", "page.htm", "--html", "other"]
    assert cli("-i", str(source), *files).exit_code == 0
    assert texts_in(tmp_path / "out.jsonl") == NUMBERED
    assert {row["number"] for row in rows_of(tmp_path / "out.csv")} == {str(n) for n in range(1, len(NUMBERED) + 1)}
    assert "good" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    for name in ("page.htm", "other"):
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_suffix_that_nothing_has_is_refused_before_any_work(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    found = cli("a good film", "-o", "found.xlsx")
    assert found.exit_code == 1
    assert ".jsonl" in found.stderr
    assert ".csv" in found.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_table_needs_lines_of_json_to_go_on_with(cli, source, whole, tmp_path):
    assert cli("-i", str(source), "-o", "out.csv", "--append").exit_code == 2
    assert cli("-i", str(source), "-o", "out.csv").exit_code == 0
    before = (tmp_path / "out.csv").read_bytes()
    assert cli("-i", str(source), "-o", "out.csv").exit_code == 1
    (tmp_path / "out.csv").write_text("older")
    (tmp_path / "part.jsonl").write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:5]))
    found = cli("-i", str(source), "-o", "out.csv", "-o", "part.jsonl", "--append", "--overwrite")
    assert found.exit_code == 0
    assert same(tmp_path / "part.jsonl", whole)
    assert (tmp_path / "out.csv").read_bytes() == before


def test_a_failure_has_a_row_with_its_error(cli, tmp_path):
    assert cli("a good film", "crash", "-o", "out.csv").exit_code == 1
    last = rows_of(tmp_path / "out.csv")[-1]
    assert (last["number"], last["text"]) == ("2", "")
    assert "the model fell over" in last["error"]


def test_files_are_not_made_of_results_that_a_run_refuses_to_go_on_with(cli, source, whole, tmp_path):
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join([*lines[:7], "another film\n", *lines[8:]]))
    found = cli("-i", str(source), "-o", "whole.jsonl", "-o", "out.csv", "--html", "page.html", "--append")
    assert found.exit_code == 1
    assert "line 8" in found.stderr
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(("option", "name"), [("-o", "out.jsonl"), ("--html", "page.html")])
def test_a_file_that_holds_something_is_not_touched(cli, tmp_path, monkeypatch, option, name):
    path = tmp_path / name
    path.write_text("mine")
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
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


def wait_for(path):
    deadline = time.monotonic() + 600
    while not path.exists():
        assert time.monotonic() < deadline, "the model was not asked"
        time.sleep(0.02)


endings = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)]
)


def ended(number, written, *arguments):
    """Run the command until its model is at the fifth text, end it by a signal, and return its exit code and errors."""
    hanging = written.with_name("hanging")
    with process(*arguments, hang="number 4", hanging=hanging) as running:
        wait_for(hanging)
        running.send_signal(number)
        _, errors = running.communicate(timeout=600)
    hanging.unlink()
    assert texts_in(written) == NUMBERED[:4]
    assert "Traceback" not in errors
    return running.returncode, errors


@endings
@pytest.mark.slow
def test_a_run_that_is_ended_is_gone_on_with(cli, source, whole, tmp_path, number, code):
    output, page = tmp_path / "out.jsonl", tmp_path / "page.html"
    returned, errors = ended(number, output, "-i", source, "-o", output, "--html", page)
    assert returned == code
    if number != signal.SIGKILL:
        assert "4 texts explained" in page.read_text(encoding="utf-8")
        assert errors.count("mase: error:") == 1
    kept = output.read_bytes()
    assert cli("-i", str(source), "-o", "out.jsonl").exit_code == 1
    assert output.read_bytes() == kept
    assert cli("-i", str(source), "-o", "out.jsonl", "--append", "--overwrite", "--html", "page.html").exit_code == 0
    assert output.read_bytes().startswith(kept)
    assert same(output, whole)
    assert f"{len(NUMBERED)} texts explained" in page.read_text(encoding="utf-8")


@endings
@pytest.mark.slow
def test_a_draft_of_a_run_that_is_ended_is_gone_on_with(cli, source, whole, tmp_path, number, code):
    output, draft, page = tmp_path / "out.jsonl", tmp_path / "out.jsonl.draft", tmp_path / "page.html"
    for path in (output, page):
        path.write_text("older\n")
    assert ended(number, draft, "-i", source, "-o", output, "--html", page, "--overwrite")[0] == code
    kept = draft.read_bytes()
    for policy in ([], ["--overwrite"]):
        found = cli("-i", str(source), "-o", "out.jsonl", *policy)
        assert found.exit_code == 1
        assert draft.name in found.stderr
    assert (output.read_text(), page.read_text(), draft.read_bytes()) == ("older\n", "older\n", kept)
    refused = cli("-i", str(source), "-o", "out.jsonl", "--append", "--html", "page.html")
    assert (refused.exit_code, draft.read_bytes()) == (1, kept)
    assert "--overwrite" in refused.stderr
    assert cli("-i", str(source), "-o", "out.jsonl", "--append", "--overwrite", "--html", "page.html").exit_code == 0
    assert same(output, whole)
    assert f"{len(NUMBERED)} texts explained" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.jsonl", "page.html", "whole.jsonl"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_result_that_is_being_added_is_added(cli, source, tmp_path, monkeypatch, number, code):
    def interrupted(page, text, result):
        if text == 2:
            os.kill(os.getpid(), number)
        add(page, text, result)

    add = HtmlPage.add
    monkeypatch.setattr(HtmlPage, "add", interrupted)
    assert cli("-i", str(source), "--html", "page.html").exit_code == code
    assert "2 texts explained" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("first", [[], ["--overwrite"]])
@pytest.mark.slow
def test_one_run_at_a_time(cli, source, tmp_path, first):
    pytest.importorskip("fcntl")
    output, draft = tmp_path / "out.jsonl", tmp_path / "out.jsonl.draft"
    if first:
        output.write_text("older\n")
    with process("-i", source, "-o", output, *first, hang="number 4", hanging=tmp_path / "hanging") as running:
        wait_for(tmp_path / "hanging")
        assert texts_in(draft if first else output) == NUMBERED[:4]
        for policy in ([], ["--append"], ["--overwrite"]):
            found = cli("-i", str(source), "-o", "out.jsonl", *policy)
            assert (found.exit_code, "another run" in found.stderr) == (1, True)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=600)
    assert cli("-i", str(source), "-o", "out.jsonl", "--append").exit_code == 0
    assert texts_in(output) == NUMBERED


def test_sigterm_is_left_as_it_was(cli):
    """Whoever calls the command from a program, or ignores the signal, goes on as before."""
    for handler in (signal.SIG_IGN, signal.SIG_DFL):
        before = signal.signal(signal.SIGTERM, handler)
        try:
            assert cli("a good film").exit_code == 0
            assert signal.getsignal(signal.SIGTERM) is handler
        finally:
            signal.signal(signal.SIGTERM, before)


def test_an_ignored_sigterm_does_not_end_a_run(cli, monkeypatch, tmp_path):
    from mase.explainer import Explainer

    def killed(self, text, *, target=None, against=None):
        os.kill(os.getpid(), signal.SIGTERM)
        return call(self, text, target=target)

    call = Explainer.__call__
    monkeypatch.setattr(Explainer, "__call__", killed)
    assert cli("a good film").exit_code == 143
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert cli("a good film").exit_code == 0
    finally:
        signal.signal(signal.SIGTERM, before)


def limited():
    """Let files grow to 9,000 bytes, in the middle of a line; Python ignores the signal that comes beyond."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))


@pytest.mark.parametrize("policy", [["--append"], ["--overwrite"]])
@pytest.mark.slow
def test_a_file_that_may_not_grow_has_whole_lines(cli, source, whole, tmp_path, policy):
    output = tmp_path / "out.jsonl"
    lines = whole.read_bytes().splitlines(keepends=True)
    output.write_bytes(lines[0] if policy == ["--append"] else b"older\n")
    code, errors = finished("-i", source, "-o", output, *policy, preexec_fn=limited)
    written = output.with_name("out.jsonl.draft") if policy == ["--overwrite"] else output
    assert code == 1
    assert errors.count("mase: error:") == 1
    n = len(texts_in(written))
    assert 1 < n < len(NUMBERED)
    assert cli("-i", str(source), "-o", "out.jsonl", "--append").exit_code == 0
    assert same(output, whole)


@contextmanager
def small_disk(folder):
    """Mount a disk of 12 kB."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user, or this machine, may not mount a disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_leaves_whole_lines(cli, source, whole, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk):
        code, errors = finished("-i", source, "-o", disk / "out.jsonl")
        assert (code, errors.count("mase: error:")) == (1, 1)
        assert "No space left" in errors
        n_left = len(NUMBERED) - len(texts_in(disk / "out.jsonl"))
        assert f"{n_left} texts left without a result" in errors
        assert 1 < len(texts_in(disk / "out.jsonl")) < len(NUMBERED)
        (tmp_path / "saved.jsonl").write_bytes((disk / "out.jsonl").read_bytes())
    assert cli("-i", str(source), "-o", "saved.jsonl", "--append").exit_code == 0
    assert same(tmp_path / "saved.jsonl", whole)


@pytest.mark.slow
def test_the_error_names_the_file_that_could_not_be_written_first(cli, source, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk):
        _, errors = finished("-i", source, "-o", disk / "out.jsonl", "--html", disk / "page.html")
        (error,) = (line for line in errors.splitlines() if "mase: error:" in line)
        assert f"cannot write '{disk / 'out.jsonl'}'" in error
        assert f"\ncannot write '{disk / 'page.html'}'" in errors
