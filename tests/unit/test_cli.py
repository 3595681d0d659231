import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.errors import DataError, ModelError
from mase.io.json import Failure, load_many
from mase.links import links

ROOT = Path(__file__).parents[2]
GOOD, BAD = "a good film", "a dull film"
PATIENCE = 600  # seconds until a process counts as one that hangs, also on a machine that is busy


def predict(texts):
    """The more of "good" and the less of "dull", the likelier "pos"; "crash" raises."""
    if any("crash" in text for text in texts):
        raise RuntimeError("the model fell over")
    chances = [0.5 + 0.3 * ("good" in text) - 0.3 * ("dull" in text) for text in texts]
    return [[1 - chance, chance] for chance in chances]


@pytest.fixture
def mase_cli(monkeypatch):
    """Run `mase explain ...` on a black box that takes the place of every model."""
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: mase.models.Callable(predict, labels=["neg", "1"]))

    def run(*arguments, **settings):
        return CliRunner().invoke(main, ["explain", "--n-samples", "64", *arguments], **settings)

    return run


def command(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "mase", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **settings,
    )


# --- the command as a whole -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], ["explain", "--help"], ["data", "get", "--help"], ["--version"]])
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
    for verb in ("explain", "models", "methods", "train", "data"):
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
    from mase.explainer import Granularity

    choices = {option.name: tuple(getattr(option.type, "choices", ())) for option in explain.params}
    assert choices["link"] == links()
    assert choices["granularity"] == get_args(Granularity)
    assert set(choices["reference"]) == set(lstm_model.references)


def test_every_option_is_documented():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    from mase.cli.explain import explain

    for option in explain.params:
        assert max(option.opts, key=len) in text or option.name == "texts"


# --- one text -------------------------------------------------------------------------------------------------------


def test_one_text_is_a_heat_map(mase_cli):
    found = mase_cli(GOOD)
    assert found.exit_code == 0
    assert found.stderr == ""
    assert "good⁺⁺⁺ film" in found.stdout
    assert "1 80.0 %" in found.stdout
    assert not found.stdout.startswith("1 ─")


def test_json_is_alone_on_standard_output(mase_cli):
    found = mase_cli(
        GOOD, "--json", "--target", "neg", "--seed", "5", "--link", "log-probability", "--batch-size", "16"
    )
    plain = json.loads(found.stdout)
    assert (plain["text"], plain["target"], plain["seed"], plain["link"]) == (GOOD, "neg", 5, "log-probability")
    assert plain["method"]["batch_size"] == 16
    assert found.stdout.count("\n") == 1
    assert mase_cli(GOOD, "-o", "-").stdout.startswith('{"schema": "mase.attribution/1"')


def test_a_label_wins_over_an_index(mase_cli):
    assert json.loads(mase_cli(GOOD, "--json", "--target", "1").stdout)["target"] == "1"
    assert json.loads(mase_cli(GOOD, "--json", "--target", "0").stdout)["target"] == "neg"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "-q"], "text '' "), ([GOOD, "--target", "positive"], "unknown target 'positive'"), (["crash"], "fell over"),
        ([GOOD, "--target", "7"], "expected an index from 0 to 1"), ([GOOD, "--method", "maze"], "did you mean 'mase'"),
        ([GOOD, "--method", "mase-gradient"], "embedding"), ([GOOD, "--estimator", "magic"], "unknown estimator"),
        ([GOOD, "--reference", "unk"], "reference"),
    ],
)  # fmt: skip
def test_expected_errors_are_one_line_and_exit_1(mase_cli, arguments, message):
    found = mase_cli(*arguments)
    assert found.exit_code == 1
    assert found.stdout == ""
    assert found.stderr.startswith("mase: error: ")
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [GOOD, "-i", "x"], [GOOD, "--n-samples", "1"], [GOOD, "--seed", "-1"], [GOOD, "--batch-size", "0"],
        [GOOD, "--batch-size", "some"], [GOOD, "--nonsense"], [GOOD, "--link", "odds"], [GOOD, "--sigma", "wide"],
        [GOOD, "--granularity", "letter"],
    ],
)  # fmt: skip
def test_usage_errors_exit_2(mase_cli, arguments):
    found = mase_cli(*arguments)
    assert found.exit_code == 2
    assert "Usage:" in found.stderr


def test_messages_command_no_terminal(mase_cli):
    found = mase_cli(GOOD, "--target", "\x1b[31m\x9b")
    assert found.exit_code == 1
    assert not set(found.stderr) & set("\x1b\x9b")


# --- many texts -----------------------------------------------------------------------------------------------------


def test_several_texts_are_numbered_and_counted(mase_cli):
    found = mase_cli(GOOD, BAD)
    assert found.exit_code == 0
    assert re.search(r"^1 ─", found.stdout, re.MULTILINE)
    assert re.search(r"^2 ─", found.stdout, re.MULTILINE)
    assert re.fullmatch(r"2 texts explained, .*\n", found.stderr)


def test_a_file_with_bad_lines_goes_on_and_exits_1(mase_cli, tmp_path):
    source, output, html = tmp_path / "in.txt", tmp_path / "new" / "out.jsonl", tmp_path / "new" / "out.html"
    source.write_bytes(b"\xef\xbb\xbfa good film\r\n\n  \nbad \xff bytes\nplease crash\nna\xc3\xafve good\n\n \n")
    found = mase_cli("-i", str(source), "-o", str(output), "--html", str(html), "--json")
    assert found.exit_code == 1
    assert found.stdout == output.read_text(encoding="utf-8")
    results = load_many(output)
    assert [type(result).__name__ for result in results] == ["Attribution", *["Failure"] * 4, "Attribution"]
    assert [results[0].text, results[5].text] == ["a good film", "naïve good"]
    failures = [result for result in results if isinstance(result, Failure)]
    assert [(one.line, one.error) for one in failures] == [
        (2, "EmptyTextError"), (3, "EmptyTextError"), (4, "InvalidTextError"), (5, "ModelError"),
    ]  # fmt: skip
    assert f"'{source}' is not UTF-8 at byte 24 (0xff)" in failures[2].message
    assert source.read_bytes()[24] == 0xFF
    lines = found.stderr.splitlines()
    assert [line.split(":")[2].strip() for line in lines[:4]] == ["line 2", "line 3", "line 4", "line 5"]
    assert "2 texts explained, 4 failed" in found.stderr
    assert f"wrote {output}" in lines
    assert f"wrote {html}" in lines
    page = html.read_text(encoding="utf-8")
    assert "2 texts explained" in page


def test_standard_input(mase_cli):
    for arguments in (["-i", "-"], []):
        found = mase_cli("--json", *arguments, input=f"{GOOD}\n{BAD}\n")
        assert [json.loads(line)["text"] for line in found.stdout.splitlines()] == [GOOD, BAD]
    assert mase_cli("--json", input="").exit_code == 1
    assert "holds no text" in mase_cli("--json", input="\n \n").stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "holds no text"), (b"\n\n", "holds no text"), (b"\xff\xfea\x00", "UTF-16"), (None, "cannot read")],
)
def test_files_without_texts(mase_cli, tmp_path, content, message):
    source = tmp_path / "in.txt"
    if content is not None:
        source.write_bytes(content)
    found = mase_cli("-i", str(source), "--json")
    assert found.exit_code == 1
    assert message in found.stderr
    assert "in.txt" in found.stderr
    assert found.stdout == ""


def test_a_named_pipe_is_read_once(mase_cli, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'a good film\\na dull film\\n' > '{pipe}'"]):
        found = mase_cli("-i", str(pipe), "--json")
    assert found.stdout.count("\n") == 2


def test_outputs_are_checked_before_any_work(mase_cli, tmp_path, monkeypatch):
    source = tmp_path / "in.txt"
    source.write_text(GOOD)
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    for option in ("-o", "--html"):
        for path in (tmp_path, source / "below"):
            found = mase_cli(GOOD, option, str(path))
            assert (found.exit_code, found.stdout) == (1, "")
            assert "cannot write" in found.stderr
        assert mase_cli("-i", str(source), option, str(source)).exit_code == 2
    assert mase_cli(GOOD, "-o", str(tmp_path / "x"), "--html", str(tmp_path / "." / "x")).exit_code == 2
    assert source.read_text() == GOOD


def test_an_older_result_outlives_a_model_that_does_not_load(mase_cli, tmp_path, monkeypatch):
    def missing(*_a, **_k):
        raise DataError("no such model")

    (tmp_path / "out.jsonl").write_text("older")
    monkeypatch.setattr("mase.models.load", missing)
    assert mase_cli(GOOD, "-o", str(tmp_path / "out.jsonl"), "--overwrite").exit_code == 1
    assert (tmp_path / "out.jsonl").read_text() == "older"


def test_a_page_needs_the_path_of_a_file(mase_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = mase_cli(GOOD, "--html", "-")
    assert (found.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "--html is '-', expected the path of a file" in found.stderr


def test_what_came_before_an_interruption_is_kept(mase_cli, tmp_path, monkeypatch):
    from mase.explainer import Explainer

    call, seen = Explainer.__call__, []

    def interrupted(self, text, *, target=None):
        seen.append(text)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return call(self, text, target=target)

    monkeypatch.setattr(Explainer, "__call__", interrupted)
    output, html = tmp_path / "out.jsonl", tmp_path / "out.html"
    found = mase_cli(*[GOOD] * 5, "-q", "-o", str(output), "--html", str(html))
    assert found.exit_code == 130
    assert len(load_many(output)) == 2
    assert "2 texts explained" in html.read_text(encoding="utf-8")
    assert found.stderr.endswith("interrupted\n")


def test_lines_are_written_as_they_come(mase_cli, tmp_path, monkeypatch):
    from mase.explainer import Explainer

    call, output, sizes = Explainer.__call__, tmp_path / "out.jsonl", []

    def watched(self, text, *, target=None):
        sizes.append(output.stat().st_size if output.exists() else 0)
        return call(self, text, target=target)

    monkeypatch.setattr(Explainer, "__call__", watched)
    mase_cli(*[GOOD] * 3, "-q", "-o", str(output))
    assert sizes[0] == 0
    assert 0 < sizes[1] < sizes[2] < output.stat().st_size


def test_the_page_numbers_texts_as_the_run_does(mase_cli, tmp_path):
    path = tmp_path / "page.html"
    found = mase_cli(GOOD, "crash", BAD, "--html", str(path), "-q")
    assert found.exit_code == 1
    assert re.findall(r"<h2>(\d)\. ", path.read_text(encoding="utf-8")) == ["1", "3"]
    assert "1 more could not be explained." in path.read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    assert f"no text was explained: {other} was not written" in mase_cli("crash", "--html", str(other)).stderr
    assert not other.exists()


def test_a_file_without_a_name_is_a_usage_error(mase_cli):
    found = mase_cli("-i", "")
    assert found.exit_code == 2
    assert "got an empty name of a file" in found.stderr


def test_colours_may_be_forced_on_a_log_but_no_bar(mase_cli, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = mase_cli(GOOD, BAD, GOOD, "-q")
    assert "\x1b[?25l" not in found.stderr
    assert "3 texts explained" in found.stderr


def test_an_error_of_the_command_stops_at_the_first_text_only(mase_cli):
    assert mase_cli(GOOD, BAD, "--target", "positive").stderr.count("unknown target") == 1
    too_long = mase_cli(
        "one two three four five six seven", GOOD, "--method", "occlusion", "--n-samples", "5", "--json"
    )
    assert "text 1: --n-samples is 5, expected at least 7" in too_long.stderr  # of this text, and not of the others
    assert [json.loads(line)["schema"] for line in too_long.stdout.splitlines()] == [
        "mase.error/1",
        "mase.attribution/1",
    ]
    with_failures = mase_cli("crash", "crash")
    assert with_failures.stderr.count(ModelError.__name__) == 0
    assert "text 1: " in with_failures.stderr
    assert "text 2: " in with_failures.stderr


# --- tables ---------------------------------------------------------------------------------------------------------


def write_table(path, column):
    """Write two texts (and labels, which are of no use here) in the format of the path's ending."""
    rows = [{column: GOOD, "label": 1}, {column: BAD, "label": None}]
    if path.suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        path.write_text(
            "".join(f"{first}{separator}{second}\n" for first, second in [rows[0], *map(dict.values, rows)])
        )
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_tables_are_read_as_tables(mase_cli, tmp_path, ending):
    found = mase_cli("-i", str(write_table(tmp_path / f"a.{ending}", "text")), "--json")
    assert [json.loads(line)["text"] for line in found.stdout.splitlines()] == [GOOD, BAD]
    assert found.exit_code == 0
    other = str(write_table(tmp_path / f"b.{ending}", "review"))
    assert mase_cli("-i", other, "--json", "--text-column", "review").stdout.count("\n") == 2
    missing = mase_cli("-i", other, "--json")
    assert (missing.exit_code, missing.stdout, missing.stderr.count("mase: error:")) == (1, "", 1)
    assert "row 1: no column 'text', expected one of: 'review', 'label'" in missing.stderr


def test_a_row_that_cannot_be_used_costs_that_row(mase_cli, tmp_path):
    source, output = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "a good film"}\n{"text": \n\n{"review": "a film"}\n{"text": "a dull film"}\n')
    found = mase_cli("-i", str(source), "-q", "-o", str(output))
    assert found.exit_code == 1
    assert [getattr(result, "line", result) for result in load_many(output)][1:3] == [2, 3]
    assert "row 2: line 2 is not JSON" in found.stderr
    assert "row 3: no column 'text', expected one of: 'review'" in found.stderr
    assert "2 texts explained, 2 failed" in found.stderr


def test_a_table_is_read_as_its_texts_are_explained(mase_cli, tmp_path):
    """A pipe is not counted first; its rows come one by one."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'text\\na good film\\na dull film\\n' > '{pipe}'"]):
        found = mase_cli("-i", str(pipe), "--json")
    assert [json.loads(line)["text"] for line in found.stdout.splitlines()] == [GOOD, BAD]


def test_a_column_needs_a_table(mase_cli, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text(GOOD)
    for arguments in ([GOOD], ["-i", str(source)], ["-i", "-"]):
        found = mase_cli(*arguments, "--text-column", "text")
        assert (found.exit_code, "got --text-column without a table" in found.stderr) == (2, True)
        assert mase_cli(*arguments, input=GOOD).exit_code == 0


# --- real processes -------------------------------------------------------------------------------------------------

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


def test_no_bars_of_others_where_standard_error_is_no_terminal(tmp_path):
    write_classifier(tmp_path)
    found = command(
        "explain", GOOD, "-m", tmp_path, "-q", "--n-samples", "32", env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert (found.returncode, found.stderr) == (0, "")


def write_classifier(folder):
    """Write a random Hugging Face classifier of one layer and a tokenizer of whole words to a folder."""
    import tokenizers
    import transformers

    words = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[MASK]", "good", "film", "a"))}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    roles = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)


def test_bundled_model_end_to_end(tmp_path):
    found = command(
        "explain", "The cast is superb, but the plot is dull.", "--html", tmp_path / "a.html",
        env=os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "superb⁺" in found.stdout or "superb⁻" in found.stdout
    assert not re.search(r"\x1b\[[\d;]*(3[1-7]|38|48)", found.stdout)
    assert (tmp_path / "a.html").stat().st_size < 20_000


# --- the other verbs ------------------------------------------------------------------------------------------------


def test_methods():
    listed = CliRunner().invoke(main, ["methods"]).stdout
    for name, method in mase.METHODS.items():
        assert re.search(rf"^{name} +{re.escape(method.summary)}$", listed, re.MULTILINE)
    described = CliRunner().invoke(main, ["methods", "mase-paper"]).stdout
    assert re.search(
        r"space +token-scale \(reference zero, step relative\)\n +design +iid\n +estimator +moment", described
    )
    unknown = CliRunner().invoke(main, ["methods", "mase-papre"])
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert "did you mean 'mase-paper'" in unknown.stderr


def test_models():
    listed = CliRunner().invoke(main, ["models"]).stdout
    assert re.search(r"^lstm-imdb +neg or pos, reads the last 80 words, 8\d\.\d% right", listed, re.MULTILINE)
    assert re.search(r"^lstm-reuters +46 classes, reads the first 80 words", listed, re.MULTILINE)
    described = CliRunner().invoke(main, ["models", "lstm-reuters"]).stdout
    assert "money-fx" in described
    assert "mase train lstm-reuters" in described
    assert CliRunner().invoke(main, ["models", "lstm-imbd"]).exit_code == 1


def test_models_that_are_damaged(tmp_path, monkeypatch):
    for name in ("model.safetensors", "vocabulary.txt"):
        (tmp_path / name).write_text("")
    wrong = ({"training": None}, {"labels": [1, 2]}, {"labels": "pos"}, {"training": {"test_accuracy": "high"}})
    for content in ("{", "[]", *(json.dumps(one) for one in wrong)):
        (tmp_path / "config.json").write_text(content)
        found = CliRunner().invoke(main, ["models", str(tmp_path)])
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    monkeypatch.setattr("mase.models.bundled.BUNDLED", ("gone",))
    listed = CliRunner().invoke(main, ["models"]).stdout.splitlines()
    assert [line for line in listed if line.split()[:3] == ["gone", "not", "usable:"]]


def test_models_describes_a_hugging_face_folder_by_its_configuration(tmp_path):
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}
    by_index = {
        str(index): f"class {index}" for index in (0, 1, 10, 2)
    }  # in the order of the file, which is of strings
    for given, labels in [({"id2label": by_index}, "class 0, class 1, class 2, class 10"), ({}, "LABEL_0, LABEL_1")]:
        (tmp_path / "config.json").write_text(json.dumps(config | given))
        found = CliRunner().invoke(main, ["models", str(tmp_path)])
        assert found.exit_code == 0
        assert found.stdout.splitlines() == [
            str(tmp_path), "  Hugging Face BertForSequenceClassification", f"  path     {tmp_path}", f"  labels   {labels}",
        ]  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config | {"id2label": ["a"]}))
    found = CliRunner().invoke(main, ["models", str(tmp_path)])
    assert (found.exit_code, "has the id2label ['a'], expected an object" in found.stderr) == (1, True)


def test_data_list(tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(tmp_path))
    (tmp_path / "imdb.parquet").write_text("")
    listed = CliRunner().invoke(main, ["data", "list"]).stdout
    assert f"imdb     25,000 + 25,000 texts, 2 classes; {tmp_path / 'imdb.parquet'}\n" in listed


def test_data_get(tmp_path, monkeypatch):
    calls = []

    def get(name, cache, *, archive, progress):
        progress(1, None)
        progress(2, 2)
        calls.append((name, cache, archive))
        return tmp_path / "imdb.parquet"

    monkeypatch.setattr("mase.datasets.get", get)
    found = CliRunner().invoke(main, ["data", "get", "imdb", "-o", "here", "--archive", "there"])
    assert (found.stdout, found.stderr) == (f"{tmp_path / 'imdb.parquet'}\n", "")
    assert calls == [("imdb", "here", "there")]
    monkeypatch.undo()
    assert "unknown dataset 'imbd'" in CliRunner().invoke(main, ["data", "get", "imbd"]).stderr


def test_train(tmp_path, monkeypatch):
    from mase_paper.training.recipe import Epoch, Trained

    calls = []

    def train(name, data_dir, output, seed, epochs, progress, base):
        calls.append((name, data_dir, output, seed, epochs, base))
        progress(Epoch(1, 2, 0.51234, 0.801))
        return Trained(tmp_path, 0.8, 0.85, 2, 3.0)

    monkeypatch.setattr("mase_paper.training.train", train)
    found = CliRunner().invoke(
        main, ["train", "lstm-imdb", "--data-dir", "d", "-o", "out", "--seed", "4", "--epochs", "2", "--base", "b"]
    )
    assert calls == [("lstm-imdb", "d", "out", 4, 2, "b")]
    assert found.stdout == f"{tmp_path}\n"
    assert "epoch 1 of 2: loss 0.512, 80.1% right on the validation part" in found.stderr
    assert "85.00% right on the test split" in found.stderr
    monkeypatch.undo()
    assert "unknown recipe 'lstm-imbd'" in CliRunner().invoke(main, ["train", "lstm-imbd"]).stderr


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

    monkeypatch.setattr("mase.models.load", load)
    found = CliRunner().invoke(main, ["explain", GOOD])
    assert found.stderr.splitlines() == ["mase: error: first second third"]
