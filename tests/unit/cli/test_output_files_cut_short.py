"""Output files of runs that are ended, killed or out of disk space: whole lines, and nothing lost."""

import os
import resource
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from tests.unit.cli.runs import NUMBERED, finished, process, same, texts_in

from mase.outputs.html import HtmlPage

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


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


def test_the_error_names_the_file_that_could_not_be_written_first(cli, source, tmp_path):
    disk = tmp_path / "disk"
    with small_disk(disk):
        _, errors = finished("-i", source, "-o", disk / "out.jsonl", "--html", disk / "page.html")
        (error,) = (line for line in errors.splitlines() if "mase: error:" in line)
        assert f"cannot write '{disk / 'out.jsonl'}'" in error
        assert f"\ncannot write '{disk / 'page.html'}'" in errors
