"""Tests of `mase.io.json`."""

import dataclasses
import json
import os
import stat
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attributions import attribution

import mase
from mase.errors import DataError
from mase.io.json import Failure, dumps, from_dict, load, load_many, save, to_dict
from mase.text import Truncation

floats = st.floats(-1e300, 1e300)  # the intercept is a difference of sums


ODD = 'odd \u2028 "quotes" \\ \x00 \x1b[31m \x85 \u202e 👍🏽 مرحبا </script>\n\tend'


@pytest.mark.parametrize("method", list(mase.METHODS))
def test_what_is_saved_loads_back_equal_for_every_method(lstm_model, method, tmp_path):
    model = "lstm-imdb" if method == "deep-shap" else lstm_model  # its rules are for the library's own LSTMs
    found = mase.Explainer(model, method=method, n_samples=60, seed=3)("slow and dull , yet good in places")
    found.save(tmp_path / "a.json")
    back = mase.load(tmp_path / "a.json")
    assert back == found
    assert back.fit.seconds == found.fit.seconds
    assert back.scores.tobytes() == found.scores.tobytes()
    assert list(back.prediction.probabilities) == list(found.prediction.probabilities)
    assert back.to_dict() == found.to_dict()


@given(
    scores=st.lists(floats, min_size=2, max_size=2),
    error=floats,
    text=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_every_finite_float_and_every_text_survives(scores, error, text):
    made = attribution("two words", scores, se=abs(error), label=text, response=scores[0])
    line = dumps(made)
    assert len(line.splitlines()) == 1
    assert from_dict(json.loads(line)) == made


def test_the_schema_has_the_documented_keys():
    made = attribution(ODD, truncation=Truncation(3, 9, "end"), notes=[("unstable", "beware")])
    plain = to_dict(made)
    assert list(plain) == [
        "schema", "text", "prediction", "target", "target_probability", "link", "response", "intercept", "words", "tokens",
        "fit", "method", "model", "seed", "versions", "truncated",
    ]  # fmt: skip
    assert plain["schema"] == "mase.attribution/1"
    assert set(plain["prediction"]) == {"label", "index", "probability", "probabilities"}
    assert set(plain["words"][0]) == {"text", "start", "end", "score", "standard_error"}
    assert set(plain["fit"]) == {"r2", "split_half", "condition", "n_queries", "n_gradients", "seconds", "warnings"}
    assert plain["fit"]["warnings"] == [{"code": "unstable", "message": "beware", "word": None}]
    assert plain["truncated"] == {"n_kept": 3, "n_total": 9, "kept": "end"}
    assert plain["intercept"] == made.intercept
    assert all(made.text[word["start"] : word["end"]] == word["text"] for word in plain["words"])
    assert from_dict(plain) == made


def test_a_line_is_strict_json_without_characters_that_command_anything():
    line = dumps(attribution(ODD, label="a\x9bb", name="m\ud800"))
    assert json.loads(line)["prediction"]["label"] == "a\x9bb"
    assert not set(line) & set("\x00\x1b\x85\x9b\u2028\ud800\n\r")
    assert line.encode()
    assert "مرحبا" in line  # readable, not escaped
    with pytest.raises(DataError, match="plain and finite"):
        dumps(attribution(response=float("nan")))
    with pytest.raises(DataError, match="plain and finite"):
        dumps(attribution(method={"name": object()}))


def test_numpy_numbers_are_numbers():
    line = dumps(attribution(method={"sigma": np.float64(0.1), "n": np.int64(3), "half": np.float32(0.5)}))
    assert json.loads(line)["method"] == {"sigma": 0.1, "n": 3, "half": 0.5}


def test_save_makes_folders_replaces_whole_and_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "new" / "a.json"
    first, second = attribution(seed=1), attribution(seed=2)
    save(first, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644

    def full(draft, text, **_):
        draft.write_bytes(text[:10].encode())  # half a file, then no more
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_text", full)
    with pytest.raises(DataError, match="No space left"):
        save(second, path)
    monkeypatch.undo()
    assert load(path) == first
    assert [file.name for file in path.parent.iterdir()] == ["a.json"]


def test_save_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    save(attribution(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(tmp_path / "real.json") == attribution()


def test_paths_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "below.json"):
        with pytest.raises(DataError, match="cannot write"):
            save(attribution(), path)


def test_many_lines(tmp_path):
    path = tmp_path / "many.jsonl"
    results = [attribution(seed=1), Failure(2, "EmptyTextError", "no word"), attribution(seed=3)]
    path.write_text("\ufeff" + "".join(dumps(result) + "\n" for result in results) + "\n", encoding="utf-8")
    assert load_many(path) == results
    assert json.loads(dumps(results[1])) == {
        "schema": "mase.error/1",
        "line": 2,
        "error": "EmptyTextError",
        "message": "no word",
    }
    with pytest.raises(DataError, match=r"holds 3 results, expected one; read it with mase.io.json.load_many"):
        load(path)
    path.write_text(dumps(results[1]))
    with pytest.raises(DataError, match=r"no attribution but a failure \(EmptyTextError: no word\)"):
        load(path)


def test_a_file_laid_out_by_hand_is_read(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(to_dict(attribution()), indent=4))
    assert load(tmp_path / "a.json") == attribution()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"), ("{", "is not JSON"), ("not json", "is not JSON"), ("[1]", "holds a list"),
        ("{}", "has the schema None"),
        ('{"schema": "mase.attribution/2"}', "has the schema 'mase.attribution/2', expected 'mase.attribution/1'"),
        ('{"schema": "mase.attribution/1"}', "lacks 'prediction'"), ("[" * 100_000, "is not JSON"), ("1" * 5000, "is not JSON"),
    ],
)  # fmt: skip
def test_files_that_are_no_attribution_say_what_they_are(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path / "a.json")
    assert "a.json" in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("seed", "0", "'seed' is '0', expected int"), ("seed", True, "'seed' is True"), ("text", None, "'text' is None"),
        ("response", float("inf"), "Infinity is no number"), ("response", float("nan"), "NaN is no number"),
        ("response", 10**400, "a finite number"), ("words", [1], r"words\[0\] is a int"), ("words", {}, "expected list"),
        ("truncated", {"n_kept": 1, "n_total": 2, "kept": "middle"}, "'start' or 'end'"), ("prediction", [], "expected dict"),
        ("words", [{"text": "x", "start": 0, "end": 999, "score": 0.0, "standard_error": 0.0}], "expected a span within"),
        ("words", [{"text": "zzz", "start": 0, "end": 3, "score": 0.0, "standard_error": 0.0}], "the text has from 0 to 3"),
        ("words", [{"text": "The", "start": 0, "end": 3, "score": 0.0, "standard_error": -1.0}], "expected a number >= 0"),
        ("tokens", [{"text": "x", "start": 0, "end": 3, "word": 999, "score": None}], "expected the number of one of the"),
        ("tokens", [{"text": "x", "start": 5, "end": 999, "word": 0, "score": None}], "expected a span within"),
        ("target", "nobody", "expected one of the labels that have a probability, neg, pos"),
        ("link", "odds", "expected one of probability"),
        ("words", [{"text": "T", "start": 0, "end": 1, "score": "0", "standard_error": 0.0}], "'score' is '0', expected Real"),
        ("tokens", [{"text": "x", "start": 0, "end": 1, "score": 0}], "lacks 'word'"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type_are_named(tmp_path, place, value, message):
    (tmp_path / "a.json").write_text(json.dumps(to_dict(attribution()) | {place: value}))
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path / "a.json")
    assert "a.json" in str(caught.value)


@pytest.mark.parametrize("key", sorted(set(to_dict(attribution())) - {"intercept"}))
def test_every_key_is_required(key):
    plain = to_dict(attribution())
    del plain[key]
    with pytest.raises(DataError, match=f"{key}|schema"):
        from_dict(plain)


def test_a_bad_line_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text(dumps(attribution()) + '\n\n{"schema": 3}\n')
    with pytest.raises(DataError, match=r"a\.jsonl', line 3 has the schema 3"):
        load_many(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text(dumps(attribution()) + "\n{\n" + dumps(attribution()))
    with pytest.raises(DataError, match=r"a\.jsonl', line 2 is not JSON"):
        load_many(tmp_path / "a.jsonl")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin").write_bytes(b'"\xe9"')
    for name, message in (("missing", "cannot read"), ("latin", "not UTF-8 at byte 1"), (".", "cannot read")):
        with pytest.raises(DataError, match=message):
            load(tmp_path / name)


def test_unknown_keys_are_ignored():
    assert from_dict(to_dict(attribution()) | {"added": "later"}) == attribution()
    assert dataclasses.replace(attribution(), seed=9) != attribution()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda found: found["words"].reverse(), "words"),
        (lambda found: found["words"].insert(1, found["words"][0]), "words"),
        (lambda found: found["prediction"].update(probability=0.7), "probability"),
        (lambda found: found.update(schema="x" * 10_000), "schema"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(change, named):
    found = to_dict(attribution())
    change(found)
    with pytest.raises(DataError, match=named) as caught:
        from_dict(found)
    assert len(str(caught.value)) < 500


def test_a_number_too_large_for_a_float_is_refused_wherever_it_stands(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(dumps(attribution()).replace('"sigma": 0.1', '"sigma": 1e999'), encoding="utf-8")
    with pytest.raises(DataError, match="1e999"):
        load(path)


RESULTS = [attribution("é" * 9, seed=1), Failure(2, "EmptyTextError", "no word"), attribution(seed=3)]


CONTENT = "".join(dumps(result) + "\n" for result in RESULTS).encode()


FIRST = CONTENT.index(b"\n") + 1


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
