"""Reading what was written, whole or damaged: result files, and files that hold no texts."""

import gzip
import json
import os
import re
import subprocess
import sys
from contextlib import suppress

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attributions import attribution

import mase
from mase.cli import main
from mase.errors import DataError
from mase.io.json import Failure, dumps, from_dict, load, load_many, loads, to_dict

RESULTS = [attribution("é" * 9, seed=1), Failure(2, "EmptyTextError", "no word"), attribution(seed=3)]
CONTENT = "".join(dumps(result) + "\n" for result in RESULTS).encode()
FIRST = CONTENT.index(b"\n") + 1


# --- lines that are torn --------------------------------------------------------------------------------------------


@given(cut=st.integers(FIRST, len(CONTENT)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_file_cut_anywhere_gives_its_whole_lines(tmp_path, cut):
    path = tmp_path / "a.jsonl"
    path.write_bytes(CONTENT[:cut])
    whole = CONTENT[: cut + 1].count(b"\n")  # the line end itself may be lost
    found = load_many(path)
    assert found[:whole] == RESULTS[:whole]
    torn = found[whole:]
    assert len(torn) == (CONTENT[:cut].rfind(b"\n") + 1 < cut and CONTENT[cut : cut + 1] != b"\n")
    assert all(
        isinstance(one, Failure) and one.line == whole + 1 and f"line {whole + 1}" in one.message for one in torn
    )


@pytest.mark.parametrize("damage", [b'{"schema"\n', b"\xff\n", b"[]\n", b'"\n', b'{"schema": "mase.attribution/1"}\n'])
def test_damage_elsewhere_is_an_error_that_names_the_line(tmp_path, damage):
    path = tmp_path / "a.jsonl"
    path.write_bytes(CONTENT[:FIRST] + damage + CONTENT[FIRST:])
    with pytest.raises(DataError, match="line 2"):
        load_many(path)


def test_what_is_no_result_is_not_called_torn(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(CONTENT + b"[]\n")
    with pytest.raises(DataError, match="line 4"):
        load_many(tmp_path / "a.jsonl")


# --- places that hold no results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [load, load_many, mase.load])
def test_paths_that_hold_no_results_are_typed_errors(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    for path in ("a\0b", tmp_path, tmp_path / "missing", tmp_path / "pipe", "/dev/zero", "x" * 5000):
        with pytest.raises(DataError, match="cannot read"):
            read(path)


def test_a_pipe_with_a_writer_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(CONTENT)
    os.mkfifo(tmp_path / "pipe")
    late = "import sys, time; out = open(sys.argv[2], 'wb'); time.sleep(0.3); out.write(open(sys.argv[1], 'rb').read())"
    with subprocess.Popen([sys.executable, "-c", late, tmp_path / "a.jsonl", tmp_path / "pipe"]) as writer:
        found = None
        while found is None and writer.poll() is None:
            with suppress(DataError):  # the writer is not there yet
                found = load_many(tmp_path / "pipe")
        writer.kill()
    assert found == RESULTS


# --- values that cannot be ------------------------------------------------------------------------------------------


def changed(place, value):
    plain = json.loads(dumps(attribution()))
    *parents, key = place
    inner = plain
    for parent in parents:
        inner = inner[parent]
    inner[key] = value
    return plain


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("prediction", "probability"), 1e9), (("prediction", "probability"), -0.5), (("target_probability",), 1.5),
        (("prediction", "probabilities", "neg"), 2), (("prediction", "index"), -1), (("prediction", "index"), 0),
        (("prediction", "index"), 2), (("fit", "r2"), 1e9), (("fit", "r2"), 1.1), (("fit", "split_half"), 2),
        (("fit", "split_half"), -2), (("fit", "condition"), -1), (("fit", "seconds"), -1), (("fit", "n_queries"), -1),
        (("fit", "n_gradients"), -1), (("tokens",), []), (("words",), []), (("method",), {}), (("method", "name"), ""),
        (("method", "name"), None), (("model",), {}), (("seed",), -1), (("words", 0, "standard_error"), -1e-3),
        (("truncated",), {"n_kept": -1, "n_total": 2, "kept": "end"}),
        (("truncated",), {"n_kept": 3, "n_total": 2, "kept": "end"}),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused_by_key(place, value):
    assert from_dict(to_dict(attribution())) == attribution()
    with pytest.raises(DataError) as caught:
        from_dict(changed(place, value))
    key = [part for part in place if isinstance(part, str)][-1]
    assert re.search(rf"\b{key}\b", str(caught.value))


def test_an_empty_word_is_refused():
    with pytest.raises(DataError, match="'end'"):
        from_dict(changed(("words", 0), {"text": "", "start": 0, "end": 0, "score": 0.0, "standard_error": 0.0}))


@pytest.mark.parametrize("line", [-1, 0])
def test_a_failure_has_the_number_of_a_line(line):
    with pytest.raises(DataError, match="'line'"):
        loads(json.dumps({"schema": "mase.error/1", "line": line, "error": "DataError", "message": ""}))


@pytest.mark.parametrize("method", list(mase.METHODS))
def test_what_the_library_writes_loads(method):
    explainer = mase.Explainer("lstm-imdb", method=method, n_samples=64)
    texts = ["Good", "The cast is superb, but the plot is dull.", "x " * 30 + "!!! ... :-) 3.14 don't 映画 e\u0301"]
    for text in texts:
        for target in ("neg", "pos"):
            found = explainer(text, target=target)
            assert loads(dumps(found)) == found


@pytest.mark.parametrize("chance", [0.0, 1.0, 1 + 1e-9, -1e-9])
def test_probabilities_at_their_bounds_load(chance):
    model = mase.models.Callable(lambda texts: [[1 - chance, chance]] * len(texts), labels=["neg", "pos"])
    found = mase.Explainer(model, n_samples=32)("a good film")
    assert loads(dumps(found)) == found


# --- files that hold no texts ---------------------------------------------------------------------------------------


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "mase.models.load", lambda *_a, **_k: mase.models.Callable(lambda texts: [[0.5, 0.5]] * len(texts))
    )
    return lambda *arguments, **given: CliRunner().invoke(
        main, ["explain", "--n-samples", "16", "--json", *arguments], **given
    )


@pytest.mark.parametrize(
    "name", ["data.xlsx", "a.csv.zst", "a.ZIP", "a.docx", "a.pdf", "a.tar", "a.json", "a.feather", "a.pkl"]
)
def test_a_file_that_is_no_text_by_its_name_is_refused(cli, tmp_path, name):
    (tmp_path / name).write_text("text,label\na good film,1\n")
    found = cli("-i", name)
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    assert name in found.stderr


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"a good film\n", mtime=0),
        b"PK\x03\x04\x14\x00",
        b"BZh91AY",
        b"%PDF-1.7\n%\xe2\xe3\n",
        b"\x28\xb5\x2f\xfd\x04",
        b"PAR1\x15",
    ],
)
def test_a_file_that_is_no_text_by_its_beginning_is_refused(cli, tmp_path, content):
    (tmp_path / "data").write_bytes(content)
    for found in (cli("-i", "data"), cli(input=content)):
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)


@pytest.mark.parametrize("name", ["data", "data.text", "data.log", "a.b.md", ".hidden", "data.txt"])
def test_text_of_any_other_name_is_read_by_line(cli, tmp_path, name):
    (tmp_path / name).write_text("a good film\nPK a film\n")
    found = cli("-i", name)
    assert [json.loads(line)["text"] for line in found.stdout.splitlines()] == ["a good film", "PK a film"]


def test_an_input_that_cannot_be_is_a_typed_error(cli):
    for arguments in (["-i", "a\0b"], ["text", "-o", "a\0b"], ["text", "--html", "a\0b"], ["-i", "."]):
        found = cli(*arguments)
        assert (found.exit_code, found.stderr.count("mase: error:")) == (1, 1)
