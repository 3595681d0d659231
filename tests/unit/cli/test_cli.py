"""Tests of `mase.cli`."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.cli.commands import command

import mase
from mase.attribution.json import load_many
from mase.cli import main
from mase.errors import DataError
from mase.links import LINKS

ROOT = Path(__file__).parents[3]


GOOD, BAD = "a good film", "a dull film"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["explain", "--help"], ["evaluate", "--help"], ["data", "get", "--help"], ["--version"]]
)
def test_help_loads_next_to_nothing(arguments):
    code = f"import sys; from mase.cli import main; main({arguments}, standalone_mode=False); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split("\n")[-2].split())
    assert "mase.cli" in loaded
    assert {"numpy", "scipy", "torch", "rich", "jinja2", "matplotlib", "httpx", "transformers"}.isdisjoint(loaded)


def test_python_dash_m_and_version():
    found = command("--version")
    assert (found.stdout, found.returncode) == (f"mase {mase.__version__}\n", 0)


def test_help_of_every_verb():
    text = CliRunner().invoke(main, ["-h"]).stdout
    for verb in ("explain", "models", "methods", "data"):
        assert f"\n  {verb} " in text
        assert CliRunner().invoke(main, [verb, "-h"]).exit_code == 0
    for code in ("0", "1", "2", "130", "141"):
        assert re.search(rf"^ +{code} ", text, re.MULTILINE)


def test_unknown_verbs_are_usage_errors():
    found = CliRunner().invoke(main, ["explian"])
    assert found.exit_code == 2
    assert "explian" in found.stderr


def test_choices_are_those_of_the_library(lstm_model):
    from mase.cli.explain import explain

    choices = {option.name: tuple(getattr(option.type, "choices", ())) for option in explain.params}
    assert choices["link"] == tuple(LINKS)
    assert set(choices["reference"]) == {*lstm_model.references, *mase.models.Callable(str).references}


def test_commands_of_one_vocabulary_have_the_same_options():
    """What two commands have in common has one name, short form and type."""
    from mase.cli.explain import cite, explain

    one, other = ({option.name: option for option in command.params} for command in (explain, cite))
    shared = one.keys() & other.keys() - {"link"}  # whose choices are those of language models
    assert len(shared) > 20
    for name in shared:
        assert (one[name].opts, one[name].type.name) == (other[name].opts, other[name].type.name)


@pytest.mark.parametrize("error", [MemoryError("298 GiB"), MemoryError(), OSError(5, "Input/output error", "some.bin")])
def test_what_the_machine_refuses_is_one_line(mase_cli, monkeypatch, error):
    from mase.explainer import Explainer

    def refuse(*_a, **_k):
        raise error

    monkeypatch.setattr(Explainer, "__call__", refuse)
    found = mase_cli(GOOD)
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (1, "", 1)
    named = ("--n-samples", "--batch-size") if isinstance(error, MemoryError) else ("'some.bin'", "Input/output error")
    assert all(part in found.stderr for part in named)


def test_names_of_files_command_no_terminal(tmp_path):
    found = CliRunner().invoke(
        main, ["explain", GOOD, "-q", "--n-samples", "16", "--html", str(tmp_path / "a\x1b[31m\x9b.html")]
    )
    assert found.exit_code == 0
    assert "wrote" in found.stderr
    assert not {"\x1b", "\x9b"} & set(found.stderr)


def test_an_error_is_one_line(monkeypatch):
    def load(*_, **__):
        raise DataError("first\n\n  second\r\nthird\n")

    monkeypatch.setattr("mase.models.open.load", load)
    found = CliRunner().invoke(main, ["explain", GOOD])
    assert found.stderr.splitlines() == ["mase: error: first second third"]


@pytest.mark.parametrize("verb", ["reproduce", "train"])
def test_a_verb_of_a_package_that_is_not_installed_says_which_brings_it(verb, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)  # entry points are read anew for another search path
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: EntryPoints(()))
    found = CliRunner().invoke(main, [verb, "--any", "thing"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert f"'mase {verb}'" in found.stderr
    assert "pip install mase-xai-paper" in found.stderr
    assert not re.search(rf"^  {verb}\b", CliRunner().invoke(main, ["--help"]).stdout, re.MULTILINE)


def test_the_help_tells_the_exit_codes():
    text = CliRunner().invoke(main, ["--help"]).stdout
    for code in (0, 1, 2, 130, 141, 143):
        assert re.search(rf"^ +{code} ", text, re.MULTILINE)


SPELLING_GOOD = "a good film"


@pytest.fixture
def verbs(monkeypatch, tmp_path):
    """Run any verb in an empty folder, on a black box that takes the place of every model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "mase.models.open.load", lambda *_a, **_k: mase.models.Callable(lambda texts: [[0.5, 0.5]] * len(texts))
    )
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "shown", "hidden"),
    [
        (["explain", "-i", "a.csv", "--text-column", "review"], "--text-column", "text_column"),
        (["evaluate", "-i", "a.csv", "--text-column", "review"], "--text-column", "text_column"),
        (["evaluate", "-i", "a.csv", "--label-column", "stars"], "--label-column", "label_column"),
        (["explain", "one two three", "--method", "occlusion", "--n-samples", "2"], "--n-samples", "n_samples"),
        (["explain", "-i", "a.csv", "--fields=text,text"], "error: --fields", "error: fields"),
        (["explain", "-i", "a.csv", "--fields", "text,premise"], "with --fields", "with fields"),
        (["explain", "-i", "a.csv", "--fields", "text", "--fixed", "stars"], "row 1: --fixed", "row 1: fixed"),
        (
            ["explain", SPELLING_GOOD, "--target", "0", "--against", "0"],
            "--target and --against are",
            "target and against are",
        ),
        (["explain", SPELLING_GOOD, "--overlap", "0.1"], "--overlap", "error: overlap"),
        (["explain", SPELLING_GOOD, "--sigma", "0.3"], "--sigma", "error: sigma"),
        (["explain", SPELLING_GOOD, "--method", "random", "--tolerance", "0.3"], "--tolerance", "error: tolerance"),
        (["run", "a.csv", "-o", "run", "--shard", "5/4"], "--shard", "error: shard"),
        (["run", "a.csv", "-o", "run", "--text-column", "text", "--fields", "text"], "and --fields are", "and fields"),
        (["run", "a.txt", "-o", "run", "--where", "label=pos"], "--where", "where="),
        (["evaluate", "-i", "a.csv", "-m", "a.py:f", "--methods", "gradient"], "use --methods mase", "method="),
        (["compare", "run", "run", "--rate", "nan"], "--rate", "error: rate"),
    ],
)
def test_messages_name_options_as_they_are_typed(verbs, tmp_path, arguments, shown, hidden):
    (tmp_path / "a.csv").write_text("text,label\ngood film,pos\n")
    (tmp_path / "a.txt").write_text("good film\n")
    (tmp_path / "a.py").write_text("def f(texts):\n    return [[0.5, 0.5]] * len(texts)\n")
    found = verbs(*arguments)
    assert found.exit_code == 1
    assert shown in found.stderr
    assert hidden not in found.stderr


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("expected it; use method='mase-nlgp'", "expected it; use --method mase-nlgp"),
        ("use n_samples='8' or target='very bad'", "use --n-samples 8 or --target 'very bad'"),
        ('use method="mase", n_samples is 8', "use --method mase, --n-samples is 8"),
        (
            "pass append=True or multilabel=True, or trust_remote_code=True",
            "pass --append or multilabel=True, or --trust-remote-code",
        ),
        ("space='token-scale' is no option", "space='token-scale' is no option"),
        ("return logits (outputs='logits')", "return logits (outputs='logits')"),
        ("run f('x', method='mase', n_samples=8)", "run f('x', method='mase', n_samples=8)"),
        ("got \"method='mase'\"", "got \"method='mase'\""),
        ("name them with fields=[...]; got background={'a': 1}", "name them with --fields; got --background"),
        (
            "labels=['a'] and outputs=['b'] are settings of a model",
            "labels=['a'] and outputs=['b'] are settings of a model",
        ),
    ],
)
def test_settings_in_messages_are_spelled_as_options(monkeypatch, message, shown):
    def load(*_, **__):
        raise DataError(message)

    monkeypatch.setattr("mase.models.open.load", load)
    assert CliRunner().invoke(main, ["explain", SPELLING_GOOD]).stderr == f"mase: error: {shown}\n"


def test_an_option_that_a_method_lacks_names_the_method_that_has_it(verbs):
    found = verbs("explain", SPELLING_GOOD, "--method", "mase+sigma=0.3")
    assert found.exit_code == 1
    assert "--method mase-nlgp" in found.stderr
    assert "method='" not in found.stderr


def test_what_the_user_named_is_shown_as_it_is(verbs, tmp_path):
    (tmp_path / "a.csv").write_text("n_samples,label\na,b\n")
    assert "'n_samples'" in verbs("explain", "-i", "a.csv").stderr
    assert "'text_column.csv'" in verbs("explain", "-i", "text_column.csv").stderr


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("target and seed are both 1", "--target and --seed are both 1"),
        ("target and sigma are both 1", "--target and --sigma are both 1"),
        ("text 3: target has no class", "text 3: --target has no class"),
        ("text 3, id 'a': OptionError: seed is 1", "text 3, id 'a': OptionError: --seed is 1"),
        ("sigma is 1", "sigma is 1"),  # it was not typed
        ("the target is 1, and seed is 2", "the target is 1, and seed is 2"),
        ("target pos has no such class", "target pos has no such class"),
        ("'row: target is 1'", "'row: target is 1'"),
        ("cannot read 'a: seed is 1'", "cannot read 'a: seed is 1'"),
        ("cannot read 'my n_samples of.csv'; n_samples is 1", "cannot read 'my n_samples of.csv'; --n-samples is 1"),
        ('text "the film\'s n_samples of" is cut', 'text "the film\'s n_samples of" is cut'),
        ("text 'the film\\'s n_samples of' is cut", "text 'the film\\'s n_samples of' is cut"),
        ("text 'it goes on, expected seed='1'", "text 'it goes on, expected --seed 1"),  # the quote was cut off
        ("a.py:f raised ValueError: seed is 1, not n_samples", "a.py:f raised ValueError: seed is 1, not n_samples"),
    ],
)
def test_a_word_is_an_option_only_where_it_was_typed_and_a_message_is_about_it(monkeypatch, message, shown):
    def load(*_, **__):
        raise DataError(message)

    monkeypatch.setattr("mase.models.open.load", load)
    found = CliRunner().invoke(main, ["explain", SPELLING_GOOD, "--target", "pos", "--seed=1"])
    assert found.stderr == f"mase: error: {shown}\n"


@pytest.mark.parametrize("typed", [["-m", "here"], ["-mhere"], ["--model", "here"], ["--model=here"]], ids=" ".join)
def test_each_way_to_type_an_option_counts(monkeypatch, typed):
    def load(*_, **__):
        raise DataError("model is no model")

    monkeypatch.setattr("mase.models.open.load", load)
    assert CliRunner().invoke(main, ["explain", SPELLING_GOOD]).stderr == "mase: error: model is no model\n"
    assert CliRunner().invoke(main, ["explain", SPELLING_GOOD, *typed]).stderr == "mase: error: --model is no model\n"


def test_messages_of_a_subcommand_of_a_subcommand_name_its_options(monkeypatch):
    def get(*_, **__):
        raise DataError("archive is no file; pass archive='path/to/it'")

    monkeypatch.setattr("mase_paper.datasets.get", get)
    found = CliRunner().invoke(main, ["data", "get", "imdb", "--archive", "a.tar.gz"])
    assert found.stderr == "mase: error: --archive is no file; pass --archive path/to/it\n"


def test_notes_on_the_screen_name_options_and_those_in_files_parameters(tmp_path):
    """Files are read elsewhere."""
    arguments = ["explain", "a b c d e f g bad film", "--n-samples", "50", "--tolerance", "1e-9", "--evidence", "0"]
    found = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "a.json"), "-o", str(tmp_path / "a.txt")])
    assert "a larger --n-samples" in " ".join(found.stdout.split())
    for name in ("a.json", "a.txt"):
        assert "a larger n_samples" in " ".join((tmp_path / name).read_text().split())


STREAMS_GOOD, BAD = "a good film", "a dull film"


PATIENCE = 600  # seconds until a process counts as one that hangs, also on a machine that is busy


SLOW = """
import signal, sys, time, mase
from mase.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits it ignored
def predict(texts):
    time.sleep(0.005)
    return [[0.5, 0.5]] * len(texts)
import mase.models.open
mase.models.open.load = lambda *a, **k: mase.models.Callable(predict, labels=["neg", "pos"])
main(sys.argv[1:])
"""


def slow(*arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, "explain", "--n-samples", "32", *arguments], text=True, **settings
    )


@pytest.mark.parametrize(
    ("text", "closed", "code"), [("", "<&-", 2), (STREAMS_GOOD, ">&-", 0), (STREAMS_GOOD, ">&- 2>&-", 0)]
)
@pytest.mark.slow
def test_streams_that_the_caller_closed(text, closed, code):
    """As some schedulers start their processes."""
    arguments = ["explain", *([text] if text else []), "--n-samples", "32"]
    line = f"{shlex.join([sys.executable, '-c', SLOW, *arguments])} {closed}"
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "Traceback" not in found.stderr
    assert found.returncode == code, found.stderr


@pytest.mark.slow
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
@pytest.mark.slow
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
@pytest.mark.parametrize(
    "arguments", [["methods"], ["--help"], ["explain", STREAMS_GOOD], ["explain", STREAMS_GOOD, "--json"]]
)
@pytest.mark.slow
def test_a_full_disk_under_standard_output_is_one_line(arguments):
    with FULL.open("w") as full:
        found = subprocess.run(
            [sys.executable, "-c", SLOW, *arguments, *(["--n-samples", "32"] if STREAMS_GOOD in arguments else [])],
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
    found = mase_cli(STREAMS_GOOD, "-q", option, str(FULL))
    assert found.exit_code == 1
    assert found.stderr.startswith("mase: error: ")
    assert found.stderr.count("\n") == 1
    assert all(part in found.stderr for part in ("'/dev/full'", "No space left on device"))


SOME_ARE_BAD = f"{GOOD}\n\n{BAD}\n"  # the second text has no word, which is told on standard error


@on_a_full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.slow
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
@pytest.mark.slow
def test_an_option_that_is_unknown_has_its_code_where_no_message_can_be_written():
    with FULL.open("w") as full, slow("--unknown", stderr=full) as process:
        assert process.wait(timeout=PATIENCE) == 2


@pytest.mark.slow
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
import mase.models.open
mase.models.open.load = lambda *a, **k: Callable(predict, labels=["neg", "pos"])
main(sys.argv[1:])
"""


@pytest.mark.slow
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


@pytest.mark.slow
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

    assert "плохо" in json.loads(mase("check", "-m", name, "--json").encode())["labels"]
    (tmp_path / "texts.txt").write_text("a good film\n", encoding="utf-8")
    mase("run", "texts.txt", "-m", name, "-o", "größe-длина", "--engine", "here", "--n-samples", "16", "-q")
    assert ascii("длина")[1:-1] in mase("compare", "größe-длина", "größe-длина")
