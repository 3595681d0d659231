"""What a command writes is never lost: refusals, going on, replacing, kills, full disks, inputs that are outputs."""

import json
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import click
import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.io.json import Failure, load_many

TEXTS = [f"a good film number {n}" for n in range(12)]


def predict(texts):
    """The more of "good" the likelier "pos"; "crash" raises."""
    if any("crash" in text for text in texts):
        raise RuntimeError("the model fell over")
    return [[0.5 - 0.3 * ("good" in text), 0.5 + 0.3 * ("good" in text)] for text in texts]


@pytest.fixture
def cli(monkeypatch, tmp_path):
    """Run `mase explain ...` in an empty folder, on a black box that takes the place of every model."""
    monkeypatch.chdir(tmp_path)
    model = mase.models.Callable(predict, labels=["neg", "pos"])
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: model)

    def run(*arguments, **settings):
        return CliRunner().invoke(main, ["explain", "--n-samples", "20", "-q", *arguments], **settings)

    return run


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    return path


# The command in a process of its own, on a black box that comes to no end at the text that HANG names.
PROGRAM = """
import os, signal, sys, time, mase
from mase.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits it ignored
def predict(texts):
    while any(text.endswith(os.environ["HANG"]) for text in texts):
        time.sleep(0.1)
    return [[0.5 - 0.3 * ("good" in text), 0.5 + 0.3 * ("good" in text)] for text in texts]
mase.models.load = lambda *a, **k: mase.models.Callable(predict, labels=["neg", "pos"])
main(["explain", "--n-samples", "20", "-q", *sys.argv[1:]])
"""


@contextmanager
def process(*arguments, hang="nowhere", **settings):
    settings = {"stderr": subprocess.PIPE, "text": True, "env": os.environ | {"HANG": hang}} | settings
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, arguments)], **settings) as running:
        try:
            yield running
        finally:
            running.kill()  # where a test has failed


def finished(*arguments, **settings):
    with process(*arguments, **settings) as running:
        _, errors = running.communicate(timeout=120)
    return running.returncode, errors


@contextmanager
def descriptor(number, file):
    """Put an open file in the place of a standard stream of this process."""
    name, kept = ("stdin", "stdout")[number], os.dup(number)
    os.dup2(file.fileno(), number)
    with pytest.MonkeyPatch.context() as patch, os.fdopen(os.dup(number), "r" if number == 0 else "w") as stream:
        patch.setattr(sys, name, stream)
        try:
            yield
        finally:
            os.dup2(kept, number)
            os.close(kept)


def wait_for_lines(path, n):
    deadline = time.monotonic() + 100
    while not (path.exists() and path.read_bytes().count(b"\n") >= n):
        assert time.monotonic() < deadline, "the lines did not come"
        time.sleep(0.02)


def texts_in(path):
    """Texts of the results in a file, after a check that all its lines are whole."""
    assert path.read_bytes().endswith(b"\n")
    return [result.text for result in load_many(path)]


def same(path, other):
    """Whether two files hold equal results: all but the seconds that they took."""
    return load_many(path) == load_many(other)


# --- a file that is there -------------------------------------------------------------------------------------------


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
    "arguments", [["--append", "--overwrite", "-o", "x"], ["--append"], ["--append", "--html", "x"]]
)
def test_policies_that_contradict_or_have_no_file(cli, tmp_path, arguments):
    assert cli("a good film", *arguments).exit_code == 2
    assert list(tmp_path.iterdir()) == []


# --- going on -------------------------------------------------------------------------------------------------------


@pytest.fixture
def whole(cli, source, tmp_path):
    """The results of all texts, in one go."""
    assert cli("-i", str(source), "-o", "whole.jsonl").exit_code == 0
    return tmp_path / "whole.jsonl"


@pytest.mark.parametrize("cut", [0, 1, 10, 40, 3000, -1, -2])
def test_append_goes_on_after_any_cut(cli, source, whole, tmp_path, cut):
    part = tmp_path / "part.jsonl"
    part.write_bytes(whole.read_bytes()[:cut])
    found = cli("-i", str(source), "-o", "part.jsonl", "--append")
    assert found.exit_code == 0
    assert same(part, whole)
    assert texts_in(part) == TEXTS
    kept = whole.read_bytes()[:cut].rfind(b"\n") + 1
    assert part.read_bytes()[:kept] == whole.read_bytes()[:kept]  # and not made again
    assert ("not whole" in found.stderr) == (cut != 0)


def test_append_reads_past_the_texts_of_a_stream(cli, whole, tmp_path):
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:5]))
    found = cli("-o", "part.jsonl", "--append", "--html", "page.html", input="".join(f"{text}\n" for text in TEXTS))
    assert found.exit_code == 0
    assert same(part, whole)
    assert "7 texts explained" in found.stderr
    assert "12 texts explained" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_append_when_all_is_done_says_so(cli, source, whole):
    before = whole.read_bytes()
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert (found.exit_code, whole.read_bytes()) == (0, before)
    assert "all 12 texts" in found.stderr


def test_a_failure_counts_as_done_and_as_a_failure(cli, tmp_path):
    texts = ["a good film", "crash", "a film"]
    assert cli(*texts[:2], "-o", "out.jsonl").exit_code == 1
    before = (tmp_path / "out.jsonl").read_bytes()
    found = cli(*texts, "-o", "out.jsonl", "--append")
    assert found.exit_code == 1
    assert (tmp_path / "out.jsonl").read_bytes().startswith(before)
    assert [type(result) for result in load_many(tmp_path / "out.jsonl")][1:2] == [Failure]
    assert len(load_many(tmp_path / "out.jsonl")) == 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--seed", "1"], "seed"), (["--n-samples", "30"], "n_samples"), (["--target", "neg"], "target"),
        (["--method", "lime"], "name"), (["--link", "probability"], "link"), (["--granularity", "token"], "granularity"),
        (["--tolerance", "0.1"], "tolerance"), (["--estimator", "ridge"], "estimator"),
    ],
)  # fmt: skip
def test_append_refuses_results_made_otherwise(cli, source, whole, arguments, named):
    before = whole.read_bytes()
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append", *arguments)
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "line 1" in found.stderr
    assert named in found.stderr


def test_append_refuses_results_of_another_model_or_text(cli, source, whole, tmp_path, monkeypatch):
    before = whole.read_bytes()
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join([*lines[:7], "another film\n", *lines[8:]]))
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "line 8" in found.stderr
    assert "another film" in found.stderr
    source.write_text("".join(lines[:5]))
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "line 6" in found.stderr
    source.write_text("".join(lines))
    other = mase.models.Callable(predict, labels=["neg", "pos"], name="other")
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: other)
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append", "--html", "page.html")
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "other" in found.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_target_that_was_given_is_not_the_predicted_one(cli, tmp_path):
    assert cli("a good film", "-o", "out.jsonl", "--target", "neg").exit_code == 0
    assert "target" in cli("a good film", "a film", "-o", "out.jsonl", "--append").stderr
    for target in ("neg", "0"):
        assert cli("a good film", "a film", "-o", "out.jsonl", "--append", "--target", target).exit_code == 0


@pytest.mark.parametrize(
    "content", ["my notes", "my notes\n", '{"text": "mine"}', '{"text": "mine"}\n', "\nmine\n", '"mine']
)
@pytest.mark.parametrize("before", ["", "results"])
def test_append_never_cuts_what_it_did_not_write(cli, source, whole, tmp_path, content, before):
    path = tmp_path / "notes"
    path.write_bytes((whole.read_bytes() if before else b"") + content.encode())
    kept = path.read_bytes()
    found = cli("-i", str(source), "-o", "notes", "--append")
    assert (found.exit_code, path.read_bytes()) == (1, kept)
    assert "notes" in found.stderr


@pytest.mark.parametrize("method", list(mase.METHODS))
def test_append_knows_its_own_results_by_every_method(lstm_model, method, tmp_path, monkeypatch):
    model = mase.models.load("lstm-imdb") if method == "deep-shap" else lstm_model
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: model)
    arguments = ["explain", "--method", method, "--n-samples", "30", "-q", "-o", str(tmp_path / "a.jsonl")]
    assert CliRunner().invoke(main, [*arguments, "a good film"]).exit_code == 0
    found = CliRunner().invoke(main, [*arguments, "--append", "a good film", "a dull film"])
    assert (found.exit_code, len(load_many(tmp_path / "a.jsonl"))) == (0, 2), found.stderr
    refused = CliRunner().invoke(main, [*arguments, "--append", "--seed", "9", "a good film"])
    assert refused.exit_code == 1


# --- replacing ------------------------------------------------------------------------------------------------------


def test_overwrite_replaces_at_the_end_and_keeps_permissions(cli, tmp_path, monkeypatch):
    from mase.explainer import Explainer

    path, call, seen = tmp_path / "out.jsonl", Explainer.__call__, []
    path.write_text("older\n")
    path.chmod(0o640)

    def watched(self, text, *, target=None):
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
            assert json.loads(reader.communicate(timeout=60)[0])["text"] == "a good film"
        pipe.unlink()


# --- input and output are one file ----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [[], ["--append"], ["--overwrite"]])
@pytest.mark.parametrize("option", ["-o", "--html"])
def test_no_link_leads_from_an_output_to_the_input(cli, source, tmp_path, option, policy):
    before = source.read_bytes()
    (tmp_path / "hard").hardlink_to(source)
    (tmp_path / "soft").symlink_to(source)
    results = [] if option == "-o" else ["-o", "out.jsonl"]
    for name in ("hard", "soft"):
        assert cli("-i", str(source), option, name, *results, *policy).exit_code == 2
        assert cli("-i", name, option, str(source), *results, *policy).exit_code == 2
    assert source.read_bytes() == before
    assert not (tmp_path / "out.jsonl").exists()


def test_two_outputs_are_two_files(cli, tmp_path):
    (tmp_path / "a").touch()
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    for first, second in (("a", "b"), ("new", "./new"), ("new.jsonl", "new.jsonl.draft")):
        assert cli("a good film", "-o", first, "--html", second).exit_code == 2


@pytest.mark.parametrize("policy", [[], ["--append"], ["--overwrite"]])
@pytest.mark.parametrize("given", [[], ["-i", "-"], ["-i", "/dev/stdin"], ["-i", "/dev/fd/0"]])
def test_standard_input_is_no_output(cli, source, given, policy):
    before = source.read_bytes()
    with source.open("rb") as file, descriptor(0, file), pytest.raises(click.UsageError):
        main(["explain", *given, "-o", str(source), *policy], standalone_mode=False)
    assert source.read_bytes() == before


@pytest.mark.parametrize("given", ["file", "stream"])
def test_standard_output_is_no_input(cli, source, given):
    before = source.read_bytes()
    arguments = ["-i", str(source)] if given == "file" else []
    with source.open("ab") as out, source.open("rb") as file, descriptor(0, file), descriptor(1, out):  # noqa: SIM117
        with pytest.raises(click.UsageError):
            main(["explain", "--json", *arguments], standalone_mode=False)
    assert source.read_bytes() == before


def test_standard_output_is_no_other_output(cli, source, tmp_path):
    with (tmp_path / "out.jsonl").open("ab") as out:
        with descriptor(1, out), pytest.raises(click.UsageError):
            main(["explain", "-i", str(source), "--json", "-o", "out.jsonl"], standalone_mode=False)
        assert finished("-i", source, "-o", "/dev/stdout", stdout=out)[0] == 0  # nothing else goes there
    assert texts_in(tmp_path / "out.jsonl") == TEXTS


# --- ends before the end --------------------------------------------------------------------------------------------

endings = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)]
)


def ended(number, written, *arguments):
    """Run the command until it has written four lines, end it by a signal, and return its exit code and errors."""
    with process(*arguments, hang="number 4") as running:
        wait_for_lines(written, 4)
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert texts_in(written) == TEXTS[:4]
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
    assert cli("-i", str(source), "-o", "out.jsonl", "--append", "--html", "page.html").exit_code == 0
    assert output.read_bytes().startswith(kept)
    assert same(output, whole)
    assert f"{len(TEXTS)} texts explained" in page.read_text(encoding="utf-8")


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
    assert cli("-i", str(source), "-o", "out.jsonl", "--append", "--html", "page.html").exit_code == 0
    assert same(output, whole)
    assert f"{len(TEXTS)} texts explained" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.jsonl", "page.html", "whole.jsonl"]


@pytest.mark.parametrize("first", [[], ["--overwrite"]])
def test_one_run_at_a_time(cli, source, tmp_path, first):
    pytest.importorskip("fcntl")
    output, draft = tmp_path / "out.jsonl", tmp_path / "out.jsonl.draft"
    if first:
        output.write_text("older\n")
    with process("-i", source, "-o", output, *first, hang="number 4") as running:
        wait_for_lines(draft if first else output, 4)
        for policy in ([], ["--append"], ["--overwrite"]):
            found = cli("-i", str(source), "-o", "out.jsonl", *policy)
            assert (found.exit_code, "another run" in found.stderr) == (1, True)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    assert cli("-i", str(source), "-o", "out.jsonl", "--append").exit_code == 0
    assert texts_in(output) == TEXTS


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

    def killed(self, text, *, target=None):
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


# --- a full disk ----------------------------------------------------------------------------------------------------


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
    assert 1 < n < len(TEXTS)
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
        assert 1 < len(texts_in(disk / "out.jsonl")) < len(TEXTS)
        (tmp_path / "saved.jsonl").write_bytes((disk / "out.jsonl").read_bytes())
    assert cli("-i", str(source), "-o", "saved.jsonl", "--append").exit_code == 0
    assert same(tmp_path / "saved.jsonl", whole)


# --- the other commands ---------------------------------------------------------------------------------------------


@pytest.fixture
def judge(cli, tmp_path):
    """Run `mase evaluate ...` on a table of six texts."""
    (tmp_path / "in.csv").write_text("text\n" + "".join(f"a good film {n}\n" for n in range(6)))

    def run(*arguments):
        common = [
            "evaluate",
            "-i",
            "in.csv",
            "--methods",
            "lime",
            "--metrics",
            "comprehensiveness",
            "--n-samples",
            "20",
        ]
        return CliRunner().invoke(main, [*common, *arguments])

    return run


def test_evaluate_replaces_only_what_it_may(judge, tmp_path):
    output = tmp_path / "out.json"
    output.write_text("older")
    found = judge("-o", "out.json")
    assert (found.exit_code, output.read_text()) == (1, "older")
    assert "--overwrite" in found.stderr
    (tmp_path / "hard.json").hardlink_to(tmp_path / "in.csv")
    assert judge("-o", "hard.json", "--overwrite").exit_code == 2
    assert judge("-o", "out.json", "--overwrite").exit_code == 0
    assert json.loads(output.read_text())["n_texts"] == 6
    assert judge("-o", "new.json").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.json", "in.csv", "new.json", "out.json"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_evaluate_that_is_ended_replaces_nothing(judge, tmp_path, monkeypatch, number, code):
    from mase.metrics.evaluator import Evaluator

    call, seen = Evaluator.__call__, []

    def killed(self, text, attributions=None, **given):
        seen.append(text)
        if len(seen) % 4 == 3:
            os.kill(os.getpid(), number)
        return call(self, text, attributions, **given)

    monkeypatch.setattr(Evaluator, "__call__", killed)
    (tmp_path / "older.json").write_text("older")
    for output, written in (("new.json", "new.json"), ("older.json", "older.json.draft")):
        seen.clear()
        assert judge("-o", output, "--overwrite").exit_code == code
        assert json.loads((tmp_path / written).read_text())["n_texts"] == 2
    assert (tmp_path / "older.json").read_text() == "older"
    found = judge("-o", "older.json", "--overwrite")
    assert (found.exit_code, "older.json.draft" in found.stderr) == (1, True)


def test_train_replaces_a_model_only_if_asked(tmp_path, monkeypatch):
    from mase_paper.training.recipe import Trained

    trained = []

    def train(name, data_dir, output, *_):
        trained.append(output)
        return Trained(tmp_path, 0.8, 0.85, 2, 3.0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase_paper.training.train", train)
    (tmp_path / "lstm-imdb").mkdir()
    (tmp_path / "lstm-imdb" / "checkpoint.pt").write_text("a training under way")
    assert CliRunner().invoke(main, ["train", "lstm-imdb"]).exit_code == 0
    (tmp_path / "lstm-imdb" / "model.safetensors").write_text("weights")
    for arguments in ([], ["-o", "lstm-imdb"]):
        found = CliRunner().invoke(main, ["train", "lstm-imdb", *arguments])
        assert (found.exit_code, "lstm-imdb" in found.stderr, "--overwrite" in found.stderr) == (1, True, True)
    assert CliRunner().invoke(main, ["train", "lstm-imdb", "-o", "lstm-imdb", "--overwrite"]).exit_code == 0
    assert trained == [None, "lstm-imdb"]


def test_reproduce_replaces_only_its_own_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase_paper.experiments.runner.run", lambda *_: pytest.fail("the experiment was run"))
    (tmp_path / "table1.md").write_text("my table")
    for arguments in ([], ["--fresh"], ["--report-only"]):
        found = CliRunner().invoke(main, ["reproduce", "table1", "-o", ".", *arguments])
        assert (found.exit_code, "table1.md" in found.stderr) == (1, True)
    assert (tmp_path / "table1.md").read_text() == "my table"
    found = CliRunner().invoke(main, ["reproduce", "table1", "-o", "table1.md"])
    assert (found.exit_code, "table1.md" in found.stderr) == (1, True)


def test_data_get_leaves_a_table_as_it_is(tmp_path):
    (tmp_path / "imdb.parquet").write_text("a table")
    found = CliRunner().invoke(main, ["data", "get", "imdb", "-o", str(tmp_path)])
    assert (found.exit_code, (tmp_path / "imdb.parquet").read_text()) == (0, "a table")


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        (["train", "lstm-imdb"], "mase_paper.training.train"),
        (["reproduce", "table1"], "mase_paper.experiments.runner.run"),
    ],
)
def test_sigterm_ends_every_command(tmp_path, monkeypatch, arguments, called):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(called, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    found = CliRunner().invoke(main, arguments)
    assert (found.exit_code, found.stderr.count("\n")) == (143, 1)


def test_the_help_tells_the_exit_codes():
    text = CliRunner().invoke(main, ["--help"]).stdout
    for code in (0, 1, 2, 130, 141, 143):
        assert re.search(rf"^ +{code} ", text, re.MULTILINE)
