"""Tests of `mase.attribution.json`."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attributions import attribution, changed, two_fields

import mase
from mase.attribution import (
    Attributions,
    Changed,
    Evidence,
    Field,
    Fit,
    Interaction,
    Note,
    Response,
    Token,
    Unit,
    Window,
    WindowResponse,
)
from mase.attribution.json import (
    Failure,
    differences,
    dumps,
    from_dict,
    json_schema,
    load,
    load_many,
    loads,
    save,
    to_dict,
)
from mase.errors import DataError, OptionError
from mase.render.figure import bar_chart
from mase.render.terminal import summary
from mase.text import Truncation

floats = st.floats(-1e300, 1e300)  # the intercept is a difference of sums


ODD = 'odd \u2028 "quotes" \\ \x00 \x1b[31m \x85 \u202e 👍🏽 مرحبا </script>\n\tend'


@pytest.mark.parametrize("method", list(mase.METHODS))
@pytest.mark.slow
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
@pytest.mark.slow
def test_every_finite_float_and_every_text_survives(scores, error, text):
    made = attribution("two words", scores, se=abs(error), label=text, value=scores[0])
    line = dumps(made)
    assert len(line.splitlines()) == 1
    assert from_dict(json.loads(line)) == made


def test_the_schema_has_the_documented_keys():
    made = attribution(ODD, truncation=Truncation(3, 9, "end"), notes=[("unstable", "beware")])
    plain = to_dict(made)
    assert list(plain) == [
        "schema", "document", "units", "responses", "tokens", "prediction", "fit", "notes", "method", "model", "seed",
        "versions", "truncation", "evidence", "zoomed", "windows", "answer",
    ]  # fmt: skip
    assert plain["schema"] == "mase.attribution/2"
    assert plain["document"] == [{"name": "text", "text": ODD, "fixed": False, "value": None, "background": None}]
    assert set(plain["prediction"]) == {"label", "index", "probability", "probabilities", "values", "multilabel"}
    assert set(plain["units"][0]) == {"field", "start", "end", "text"}
    assert set(plain["tokens"][0]) == {"text", "field", "start", "end", "unit"}
    assert set(plain["fit"]) == {"split_half", "condition", "n_queries", "n_gradients", "seconds", "precision"}
    assert set(plain["responses"][0]) == {
        "name", "link", "value", "scores", "standard_errors", "order", "r2", "effects", "r2_held_out", "exact",
        "signed", "token_scores", "intercept", "interactions", "against", "split_half", "total_errors",
    }  # fmt: skip
    assert plain["notes"] == [{"code": "unstable", "message": "beware", "unit": None, "response": None}]
    assert plain["truncation"] == {"n_kept": 3, "n_total": 9, "kept": "end"}
    assert plain["responses"][0]["intercept"] == made.intercept
    assert all(made.text[unit["start"] : unit["end"]] == unit["text"] for unit in plain["units"])
    assert from_dict(plain) == made


@pytest.mark.slow
def test_a_line_is_strict_json_without_characters_that_command_anything():
    line = dumps(attribution(ODD, label="a\x9bb", model_name="m\ud800"))
    assert json.loads(line)["prediction"]["label"] == "a\x9bb"
    assert not set(line) & set("\x00\x1b\x85\x9b\u2028\ud800\n\r")
    assert line.encode()
    assert "مرحبا" in line  # readable, not escaped
    with pytest.raises(DataError, match="plain and finite"):
        dumps(attribution(value=float("nan")))
    with pytest.raises(DataError, match="plain and finite"):
        dumps(attribution(method={"name": object()}))
    deep = {}
    for _ in range(200_000):  # Python 3.14 writes some tens of thousands
        deep = {"x": deep}
    with pytest.raises(DataError, match="plain and finite"):
        dumps(attribution(method={"name": "deep", "x": deep}))


def test_numpy_values_are_those_of_python():
    method = {"sigma": np.float64(0.1), "n": np.int64(3), "half": np.float32(0.5), "link": np.str_("margin")}
    assert json.loads(dumps(attribution(method=method)))["method"] == method


def test_save_makes_folders_replaces_whole_and_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "new" / "a.json"
    first, second = attribution(seed=1), attribution(seed=2)
    save(first, path)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode

    def full(stream, file):
        file.write(stream.read(10))  # half a file, then no more
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
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


@pytest.mark.parametrize("name", ["page.html", "PAGE.HTM", b"page.html"])
def test_json_is_not_saved_as_a_page(name, tmp_path, monkeypatch):
    """A browser would run the markup in the text."""
    monkeypatch.chdir(tmp_path)
    made = attribution("a <script>film</script>")
    for write in (made.save, Attributions([made, made]).save):
        with pytest.raises(OptionError, match="to_html"):
            write(name)
    assert list(tmp_path.iterdir()) == []


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
    with pytest.raises(DataError, match=r"holds 3 results, expected one; read it with mase.attribution.json.load_many"):
        load(path)
    path.write_text(dumps(results[1]))
    with pytest.raises(DataError, match=r"holds a failure \(EmptyTextError: no word\), expected an attribution"):
        load(path)


def test_a_file_laid_out_by_hand_is_read(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(to_dict(attribution()), indent=4))
    assert load(tmp_path / "a.json") == attribution()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"), ("{", "is not JSON"), ("not json", "is not JSON"), ("[1]", "holds a list"),
        ("{}", "has the schema None"),
        ('{"schema": "mase.attribution/3"}', "has the schema 'mase.attribution/3', expected 'mase.attribution/2'"),
        ('{"schema": "mase.attribution/2"}', "missing required field `document`"), ("[" * 100_000, "is not JSON"),
        ('{"schema": "mase.attribution/1"}', "missing required field `text`"), ("1" * 5000, "is not JSON"),
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
        (("seed",), "0", r"Expected `int`, got `str` - at `\$.seed`"), (("seed",), True, r"got `bool` - at `\$.seed`"),
        (("document", 0, "text"), None, r"Expected `str`, got `null` - at `\$.document\[0\].text`"),
        (("responses", 0, "value"), float("inf"), "Infinity is not a number"), (("units",), [1], r"at `\$.units\[0\]`"),
        (("responses", 0, "value"), float("nan"), "NaN is not a number"),
        (("units",), {}, "Expected `array`, got `object`"),
        (("responses", 0, "value"), 10**400, r"Number out of range - at `\$.responses\[0\].value`"),
        (("truncation",), {"n_kept": 1, "n_total": 2, "kept": "middle"}, r"'middle' - at `\$.truncation.kept`"),
        (("prediction",), [], "Expected `object`, got `array`"),
        (("units", 0, "end"), 999, r"units\[0\] .* expected a span within"),
        (("units", 0, "text"), "zzz", r"units\[0\]: 'text' is 'zzz', expected 'The'"),
        (("units", 0, "field"), "title", r"units\[0\]: 'field' is 'title', expected one of text"),
        (("responses", 0, "standard_errors", 2), -1.0, "'standard_errors' .* expected numbers >= 0"),
        (("tokens", 1, "unit"), 999, r"tokens\[1\]: 'unit' is 999, expected null or the index of one of the 11 units"),
        (("tokens", 1, "end"), 999, r"tokens\[1\] .* expected a span within"),
        (("tokens", 1, "end"), None, r"tokens\[1\] .* expected 'field', 'start' and 'end'"),
        (("responses", 0, "name"), "nobody", "expected one of the labels in 'probabilities', neg, pos"),
        (("responses", 0, "link"), "", "'link' is '', expected a name"),
        (("responses", 0, "scores", 4), "0", r"Expected `float`, got `str` - at `\$.responses\[0\].scores\[4\]`"),
        (("tokens", 0), {"text": "x", "start": 0, "end": 1, "field": "text"},
            r"required field `unit` - at `\$.tokens\[0\]`"),
        (("seed",), "\ud800", "does not fit its schema"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type_are_named(tmp_path, place, value, message):
    (tmp_path / "a.json").write_text(json.dumps(changed(place, value)))
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path / "a.json")
    assert "a.json" in str(caught.value)


@pytest.mark.parametrize("key", sorted(set(to_dict(attribution())) - {"answer", "evidence", "windows", "zoomed"}))
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


CHANGED = Changed((0,), "neg", 0.6, 0.4, -0.4)


EVIDENCE = Evidence((CHANGED,), (CHANGED,), None, "pos")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda found: found["units"].reverse(), "units"),
        (lambda found: found["units"].insert(1, found["units"][0]), "units"),
        (lambda found: found["units"].pop(), "tokens|scores"),
        (lambda found: found["document"].append(found["document"][0]), "document"),
        (lambda found: found["responses"].append(found["responses"][0]), "responses"),
        (lambda found: found["responses"][0]["scores"].pop(), "scores"),
        (lambda found: found["responses"][0]["standard_errors"].append(0.1), "standard_errors"),
        (lambda found: found["responses"][0]["order"].reverse() or found["responses"][0]["order"].append(0), "order"),
        (lambda found: found["responses"][0]["effects"].update(leave_one_out=[1.0]), "leave_one_out"),
        (lambda found: found["responses"][0].update(token_scores=[1.0]), "token_scores"),
        (lambda found: found["prediction"].update(probability=0.7), "probability"),
        (lambda found: found.update(schema="x" * 10_000), "schema"),
        (lambda found: found["fit"].update(seconds=1e308), "seconds"),
        (lambda found: found["evidence"].update(only=[]), "only"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(change, named):
    found = to_dict(attribution(evidence=EVIDENCE))
    change(found)
    with pytest.raises(DataError, match=named) as caught:
        from_dict(found)
    assert len(str(caught.value)) < 500


def test_several_fields_and_responses_load_back_equal():
    made = two_fields()
    assert from_dict(to_dict(made)) == made
    assert json.loads(dumps(made)) == to_dict(made)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused_in_a_mapping_too(wrong):
    for place in (("value",), ("scores", 3), ("standard_errors", 3), ("r2",)):
        with pytest.raises(DataError, match=str(place[0])):
            from_dict(changed(("responses", 0, *place), wrong))


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
    late = """
import sys, time
with open(sys.argv[2], "wb") as out:
    print(flush=True)
    time.sleep(0.3)
    out.write(open(sys.argv[1], "rb").read())
"""
    command = [sys.executable, "-c", late, tmp_path / "a.jsonl", tmp_path / "pipe"]
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)  # the writer waits for none, and may end early
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()  # it has opened the pipe
        assert load_many(tmp_path / "pipe") == RESULTS
    os.close(reader)


def test_results_from_before_several_responses_are_read():
    made = attribution(notes=[("unstable", "beware")])
    plain = to_dict(made)
    del plain["prediction"]["values"], plain["notes"][0]["response"]
    for name in ("against", "split_half"):
        del plain["responses"][0][name]
    assert from_dict(plain) == made


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("responses", 0, "against"), "maybe", "'against'"),
        (("responses", 0, "against"), "pos", "another one"),
        (("notes", 0, "response"), "neg", "'response'"),
        (("prediction", "probability"), None, "'probability'"),
        (("prediction", "values"), {"pos": 1.0}, "one of both"),
    ],
)
def test_fields_of_several_responses_are_checked(path, value, match):
    plain = to_dict(attribution(notes=[("unstable", "beware")]))
    *inner, last = path
    place = plain
    for key in inner:
        place = place[key]
    place[last] = value
    with pytest.raises(DataError, match=match):
        from_dict(plain)


def test_a_whole_number_that_another_program_wrote_without_its_point_is_read():
    model = mase.models.Callable(lambda records: [[0.5, 0.5]] * len(records))
    plain = json.loads(dumps(mase.explain({"note": "good", "age": 3.0}, model, background={"age": 0.0})))
    (field,) = (one for one in plain["document"] if one["name"] == "age")
    field["value"] = 3
    assert from_dict(plain).document[1].value == 3
    field["value"] = 4
    with pytest.raises(DataError, match="'value' is 4"):
        from_dict(plain)


ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("wrong", [-1, 11, "3", 1.5, True])
def test_the_unit_of_a_note_is_one_of_the_units(wrong):
    made = attribution(notes=[("early", "x", 3)])
    assert from_dict(made.to_dict()).notes == made.notes
    with pytest.raises(DataError, match="unit"):
        from_dict(changed(("notes", 0, "unit"), wrong, made))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("prediction", "probability"), 1e9), (("prediction", "probability"), -0.5), (("responses", 0, "r2"), 1e9),
        (("prediction", "probabilities", "neg"), 2), (("prediction", "index"), -1), (("prediction", "index"), 0),
        (("prediction", "index"), 2), (("responses", 0, "r2"), 1.1), (("responses", 0, "r2_held_out"), 1.1),
        (("fit", "split_half"), 2), (("fit", "split_half"), -2), (("fit", "condition"), -1), (("fit", "seconds"), -1),
        (("fit", "n_queries"), -1), (("fit", "n_gradients"), -1), (("fit", "n_queries"), -(10**400)), (("tokens",), []),
        (("units",), []), (("document",), []), (("responses",), []), (("fit", "precision"), "float64"),
        (("method",), {}), (("model", "sha256"), 5), (("model", "sha256"), ["ab"]), (("model", "code_sha256"), 5),
        (("document", 0, "value"), 5), (("document", 0, "value"), "other"), (("document", 0, "background"), 5),
        (("prediction",), {"label": "neg", "index": 0, "probability": 0.2, "probabilities": {"neg": 0.2, "pos": 0.8}}),
        (("method", "name"), ""), (("method", "name"), None), (("model",), {}), (("seed",), -1),
        (("method", "n_samples"), -5), (("method", "n_samples"), 0), (("method", "n_samples"), "many"),
        (("method", "n_samples"), None), (("method", "n_samples"), [8]),
        (("seed",), -(10**400)),
        (("responses", 0, "standard_errors", 0), -1e-3), (("responses", 0, "order", 0), 10**400),
        (("units", 3, "end"), 12),
        (("responses", 0, "interactions", 0, "units"), [3, 1]), (("responses", 0, "interactions", 0, "units"), [1, 99]),
        (("responses", 0, "interactions", 0, "units"), [-1, 1]), (("responses", 0, "interactions", 0, "share"), -0.5),
        (("responses", 0, "interactions", 0, "standard_error"), -1),
        (("responses", 0, "interactions", 0, "half_width"), -1), (("responses", 0, "interactions", 0, "units"), [1]),
        (("truncation",), {"n_kept": -1, "n_total": 2, "kept": "end"}),
        (("truncation",), {"n_kept": 3, "n_total": 2, "kept": "end"}),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused_by_key(place, value):
    made = attribution(interactions=(Interaction((1, 3), -0.1, 0.01, 0.03, 0.02),))
    assert from_dict(to_dict(made)) == made
    with pytest.raises(DataError) as caught:
        from_dict(changed(place, value, made))
    key = [part for part in place if isinstance(part, str)][-1]
    assert re.search(rf"\b{key}\b", str(caught.value))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("probabilities", "neg"), -3), (("probability",), 3.0), (("index",), 0), (("label",), "nobody"),
        (("values",), {"neg": 0.2, "pos": 0.8}),
    ],
)  # fmt: skip
def test_the_prediction_of_a_window_is_checked_as_that_of_the_text(place, value):
    whole = attribution()
    shares = tuple(WindowResponse(one.name, one.value, one.r2, 1.0, decides=True) for one in whole.responses)
    made = replace(whole, windows=(Window("text", 0, len(whole.text), whole.prediction, shares),))
    assert from_dict(to_dict(made)) == made
    with pytest.raises(DataError, match=r"windows\[0\]: prediction"):
        from_dict(changed(("windows", 0, "prediction", *place), value, made))


def test_the_error_of_an_effect_is_not_negative():
    made = attribution("two words", [0.1, 0.2], effects={"kept": (-1.0, 0.5), "kept_error": (0.1, 0.0)})
    assert from_dict(to_dict(made)) == made
    with pytest.raises(DataError, match="'kept_error' has a number below 0"):
        from_dict(changed(("responses", 0, "effects", "kept_error", 1), -0.5, made))


def test_what_fields_have_room_for_may_be_absent():
    plain = to_dict(attribution())
    for key in ("effects", "r2_held_out", "exact", "signed", "token_scores", "intercept", "interactions"):
        del plain["responses"][0][key]
    del plain["evidence"], plain["document"][0]["fixed"], plain["fit"]["precision"]
    assert from_dict(plain) == attribution()


def test_the_published_schema_is_that_of_the_values():
    """`python tools/schema.py` writes it."""
    committed = json.loads((ROOT / "docs" / "schema" / "mase.attribution-2.json").read_text(encoding="utf-8"))
    assert committed == json_schema()
    for name, kind in (
        ("Response", Response),
        ("Unit", Unit),
        ("Note", Note),
        ("Fit", Fit),
        ("Interaction", Interaction),
    ):
        assert set(committed["$defs"][name]["properties"]) >= {one.name for one in fields(kind)}


def test_every_key_that_is_written_is_in_the_schema():
    pair = Interaction((1, 3), -0.1, 0.01, 0.03, 0.02)
    made = attribution(notes=[("early", "x", 3)], truncation=Truncation(3, 5, "end"), interactions=(pair,))
    plain = to_dict(made)
    assert list(undescribed(plain, json_schema(), "")) == []
    plain["responses"][0]["colour"] = plain["fit"]["colour"] = plain["colour"] = "red"
    assert sorted(undescribed(plain, json_schema(), "")) == [".colour", ".fit.colour", ".responses[].colour"]


def undescribed(value, kind, path, schema=None):
    """Yield the path of each key of plain JSON that a schema does not describe."""
    schema = schema or kind
    for option in kind.get("anyOf", [kind]):
        described = schema["$defs"][option["$ref"].rpartition("/")[2]] if "$ref" in option else option
        if isinstance(value, dict) and "properties" in described:
            for key, member in value.items():
                if key not in described["properties"]:
                    yield f"{path}.{key}"
                else:
                    yield from undescribed(member, described["properties"][key], f"{path}.{key}", schema)
        if isinstance(value, list) and described.get("items"):  # false for the numbers of a pair
            for member in value:
                yield from undescribed(member, described["items"], f"{path}[]", schema)


def test_a_token_may_have_no_text_and_a_method_an_order_of_its_own_and_no_samples():
    """A tokenizer of the user may return the span of no character."""
    made = attribution("two words", [0.1, 0.2], order=(0, 1), method={"name": "mine"})
    empty = replace(made, tokens=(Token("", "text", 0, 0, 0), *made.tokens))
    assert loads(dumps(empty)) == empty


def test_a_result_of_a_link_that_is_not_installed_loads():
    made = from_dict(changed(("responses", 0, "link"), "odds"))
    assert made.link == "odds"
    assert loads(dumps(made)) == made


@pytest.mark.parametrize("line", [-1, 0])
def test_a_failure_has_the_number_of_a_line(line):
    with pytest.raises(DataError, match="'line'"):
        loads(json.dumps({"schema": "mase.error/1", "line": line, "error": "DataError", "message": ""}))


@pytest.mark.parametrize("method", list(mase.METHODS))
@pytest.mark.slow
def test_what_the_library_writes_loads(method):
    explainer = mase.Explainer("lstm-imdb", method=method, n_samples=140, evidence=0)
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


GOLDEN = Path(__file__).parents[2] / "golden" / "attributions-1.jsonl"


PLAIN = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


VERSION_1_RESULTS = [plain for plain in PLAIN if plain["schema"] == "mase.attribution/1"]


LED, LENGTHS, TOKENS, CUT = VERSION_1_RESULTS[3], VERSION_1_RESULTS[4], VERSION_1_RESULTS[5], VERSION_1_RESULTS[8]


def test_a_file_of_version_1_is_read_line_by_line():
    found = load_many(GOLDEN)
    assert len(found) == len(PLAIN) == 10
    assert found[-1] == Failure(10, "EmptyTextError", "text '' has no word")
    assert [one.text for one in found[:-1]] == [plain["text"] for plain in VERSION_1_RESULTS]


@pytest.mark.parametrize("plain", VERSION_1_RESULTS)
def test_every_value_of_version_1_is_kept(plain):
    found = from_dict(plain)
    assert found.document == (Field("text", plain["text"]),)
    words = [
        {"text": w.text, "start": w.start, "end": w.end, "score": w.score, "standard_error": w.standard_error}
        for w in found.word_scores
    ]
    assert words == plain["words"]
    for key in ("target", "target_probability", "link", "response", "intercept", "method", "model", "seed", "versions"):
        assert getattr(found, key) == plain[key]
    fit, cut = plain["fit"], plain["truncated"]
    assert found.r2 == fit["r2"]
    for key in ("split_half", "condition", "n_queries", "n_gradients", "seconds"):
        assert getattr(found.fit, key) == fit[key]
    assert [(note.code, note.message, note.unit) for note in found.notes] == [
        (note["code"], note["message"], note["word"]) for note in fit["warnings"]
    ]
    assert (None if cut is None else cut["n_total"]) == (found.truncation and found.truncation.n_total)
    tokens = [(token.text, token.start, token.end, token.unit) for token in found.tokens]
    assert tokens == [(token["text"], token["start"], token["end"], token["word"]) for token in plain["tokens"]]


@pytest.mark.parametrize("plain", VERSION_1_RESULTS)
def test_what_was_read_from_version_1_is_written_in_version_2(plain):
    found = from_dict(plain)
    line = dumps(found)
    assert json.loads(line)["schema"] == "mase.attribution/2"
    assert loads(line) == found


def test_words_are_ordered_by_their_scores():
    assert from_dict(VERSION_1_RESULTS[0]).words[3] == "superb"
    assert from_dict(LED).top(1)[0].text == "lead"
    assert from_dict(LED).order.tolist() == np.argsort([-w["score"] for w in LED["words"]], kind="stable").tolist()


def test_what_notes_said_to_programs_becomes_fields():
    assert [from_dict(plain).signed for plain in VERSION_1_RESULTS] == [
        plain is not LENGTHS for plain in VERSION_1_RESULTS
    ]
    assert LENGTHS["method"]["precision"] == "bfloat16"
    assert from_dict(LENGTHS).fit.precision == "float32"
    fast = LENGTHS | {"fit": LENGTHS["fit"] | {"warnings": []}}
    assert from_dict(fast).fit.precision == "bfloat16"
    assert from_dict(VERSION_1_RESULTS[0]).fit.precision == "float32"


def test_tokens_have_scores_if_each_was_moved_by_itself():
    assert from_dict(TOKENS).responses[0].token_scores == tuple(token["score"] for token in TOKENS["tokens"])
    assert from_dict(LED).responses[0].token_scores is None
    special = from_dict(VERSION_1_RESULTS[7]).tokens[0]
    assert special == Token("[CLS]", None, None, None, None)


def test_notes_without_a_word_load():
    """Early results of version 1 have none."""
    warnings = [{"code": note["code"], "message": note["message"]} for note in LED["fit"]["warnings"]]
    found = from_dict(LED | {"fit": LED["fit"] | {"warnings": warnings}})
    assert found.notes == (Note("led", LED["fit"]["warnings"][0]["message"]),)


def test_scores_of_which_some_have_no_error_load():
    words = [word | {"standard_error": 0.289} for word in VERSION_1_RESULTS[2]["words"]]
    assert from_dict(VERSION_1_RESULTS[2] | {"words": words}).standard_errors.tolist() == [0.289] * 3
    words[1]["standard_error"] = None
    mixed = from_dict(VERSION_1_RESULTS[2] | {"words": words})
    assert np.isnan(mixed.standard_errors).tolist() == [False, True, False]
    assert "±" in summary(mixed)
    bar_chart(mixed)


@pytest.mark.parametrize("key", sorted(set(VERSION_1_RESULTS[0]) - {"intercept"}))
def test_every_key_of_version_1_is_required(key):
    with pytest.raises(DataError, match=f"{key}|schema"):
        from_dict({name: value for name, value in VERSION_1_RESULTS[0].items() if name != key})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", "0", r"\$.seed"), ("target_probability", 1.5, "target_probability"), ("target", "nobody", "nobody"),
        ("words", [], "units is empty"), ("words", VERSION_1_RESULTS[0]["words"][::-1], "reading order"),
        ("link", "", "link"),
        ("tokens", [], "tokens is empty"), ("model", {}, "model"), ("versions", {"python": 3}, "versions"),
        ("text", "another text", "schema 1.*units"),
        ("truncated", {"n_kept": 3, "n_total": 2, "kept": "end"}, "n_kept"),
    ],
)  # fmt: skip
def test_version_1_is_checked_like_version_2(key, value, message):
    with pytest.raises(DataError, match=message):
        from_dict(VERSION_1_RESULTS[0] | {key: value})


def test_a_text_that_was_cut_off_stays_so():
    found = from_dict(CUT)
    assert (found.truncation.n_kept, found.truncation.n_total, found.truncation.kept) == (80, 83, "end")


def test_a_truth_value_is_no_number():
    assert list(differences({"n": 1, "m": 1}, {"n": True, "m": 1.0})) == [("n", 1, True)]


@pytest.mark.parametrize("cut", [20, 200])
def test_an_only_line_that_a_kill_left_incomplete_is_a_failure(tmp_path, cut):
    path = tmp_path / "a.jsonl"
    path.write_text(dumps(attribution())[:cut])
    (found,) = load_many(path)
    assert (found.line, found.error) == (1, "DataError")
    path.write_text(dumps(attribution()))
    assert [one.text for one in load_many(path)] == [attribution().text]
    path.write_text('{"a": 1')
    with pytest.raises(DataError, match="is not JSON"):
        load_many(path)
