"""Tests of `mase.io.schema`."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.attributions import attribution, changed

import mase
from mase.attribution import Fit, Interaction, Note, Response, Token, Unit, Window, WindowResponse
from mase.errors import DataError
from mase.io.json import dumps, from_dict, loads, to_dict
from mase.io.schema import json_schema
from mase.text import Truncation

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
