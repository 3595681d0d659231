"""Tests of `mase.io.schema`."""

import json
import re

import numpy as np
import pytest
from tests.attributions import attribution

import mase
from mase.attribution import Note
from mase.errors import DataError
from mase.io.json import dumps, from_dict, loads, to_dict
from mase.render.figure import bar_chart
from mase.render.terminal import summary


def test_files_without_the_word_of_a_note_load():
    plain = attribution(notes=[("led", "x leads", 3), ("early", "stopped")]).to_dict()
    assert [note["word"] for note in plain["fit"]["warnings"]] == [3, None]
    for note in plain["fit"]["warnings"]:
        del note["word"]
    assert from_dict(plain).fit.warnings == (Note("led", "x leads"), Note("early", "stopped"))


@pytest.mark.parametrize("wrong", [-1, 11, "3", 1.5, True])
def test_the_word_of_a_note_is_one_of_the_words(wrong):
    plain = attribution(notes=[("led", "x leads", 3)]).to_dict()
    plain["fit"]["warnings"][0]["word"] = wrong
    with pytest.raises(DataError, match="word"):
        from_dict(plain)


def test_old_files_of_random_scores_load_with_their_errors():
    plain = attribution(method={"name": "random"}, se=0.289).to_dict()
    found = from_dict(plain)
    assert found.standard_errors.tolist() == [0.289] * 11
    plain["words"][2]["standard_error"] = None
    assert np.isnan(from_dict(plain).standard_errors).tolist() == [False, False, True, *[False] * 8]
    mixed = from_dict(plain)
    assert "±" in summary(mixed)
    bar_chart(mixed)


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
