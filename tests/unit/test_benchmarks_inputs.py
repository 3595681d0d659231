"""The comparison with other libraries on pairs, sentences and long texts: its wiring, and what is committed."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.unit.models.tiny import family

import mase
from mase.document import Document

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("the benchmarks are in the whole repository", allow_module_level=True)
PAIR = ("w1 w2, w3", "w4 w2")


@pytest.fixture(scope="module")
def benchmarks():
    """The modules `inputs` and `inputs_peers`, which import one another by name as a script does."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("inputs"), importlib.import_module("inputs_peers")
    finally:
        sys.path.remove(str(FOLDER))
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or ".").parent == FOLDER:
                del sys.modules[name]


@pytest.fixture(scope="module")
def pair(benchmarks):
    """A pair, and the function that masks its best words."""
    inputs, peers = benchmarks
    module, words = family("bert")
    reading = peers.Reading(mase.models.HuggingFace(module, words), module, module.classifier, words)
    return inputs.bound(reading, Document.of(PAIR), "pairs")


@pytest.fixture(scope="module")
def lstm(benchmarks):
    inputs, peers = benchmarks
    model = mase.models.load("lstm-imdb")
    encode = inputs.Vocabulary.read(inputs.folder("lstm-imdb") / "vocabulary.txt").encode
    return peers.Reading(model, model.module, model.module.head, None, encode)


def test_captum_masks_the_words_of_a_pair_as_mase_does(benchmarks, pair):
    _, peers = benchmarks
    given, _ = pair
    found = mase.Explainer(given.reading.adapter, method="occlusion", link="logit")(PAIR, target=given.target)
    assert peers.by_leaving_out(given) == pytest.approx(found.scores, abs=1e-4)


def test_one_string_of_a_pair_is_read_as_the_pair(benchmarks, pair):
    _, peers = benchmarks
    given, _ = pair
    expected = given.reading.adapter.predict([PAIR])
    for separator in (peers.SEPARATOR, " [SEP]"):
        assert given.reading.function([separator.join(PAIR)]) == pytest.approx(expected, abs=1e-5)


def test_a_position_of_the_joined_pair_finds_its_unit(pair):
    given, _ = pair
    units = [given.unit_at(given.joined.index(word)) for word in ("w1", "w3", "w4")]
    assert [given.document.text[slice(*given.spans[unit])] for unit in units] == ["w1", "w3", "w4"]
    assert given.unit_at(given.joined.index("|||")) is None


def test_the_best_units_are_masked_first(benchmarks, pair):
    inputs, _ = benchmarks
    assert inputs.best_first(np.array([1.0, 3.0, 1.0, 2.0])).tolist() == [1, 3, 0, 2]
    given, flipped = pair
    masked = mase.metrics.masking.masker(given.reading.adapter, given.document)
    scores = np.arange(len(given.spans), dtype=float)  # the last word is the best one
    without = np.array([[place < len(scores) - k for place in range(len(scores))] for k in range(1, 11)])
    expected = masked.probabilities(without).argmax(axis=1) != given.target
    assert flipped(scores) == expected.tolist()


def test_windows_of_the_users_function_are_those_of_the_model(lstm):
    words = ["superb" if number % 7 else "dull" for number in range(100)]
    windows = [" ".join(words[:80]), " ".join(words[20:])]
    expected = lstm.adapter.predict(windows).mean(axis=0)
    assert lstm.pooled([" ".join(words)])[0] == pytest.approx(expected, abs=1e-6)
    assert lstm.pooled(["superb"]) == pytest.approx(lstm.adapter.predict(["superb"]), abs=1e-6)


def test_rows_are_counted_at_the_last_layer(benchmarks, lstm):
    inputs, _ = benchmarks
    explainer = mase.Explainer(lstm.adapter, n_samples=40)
    explainer("the first text is checked")
    counted = inputs.Counted(lstm.head)
    found = explainer("a superb film that nobody saw and everybody liked")
    assert counted.rows == found.fit.n_queries


def test_figures_are_summed_up_per_library(benchmarks):
    inputs, peers = benchmarks
    names = list(peers.LIBRARIES["pairs"])

    def record(rows, *flips):
        one = {name: {"seconds": 2.0, "rows": rows, "flips": [flip]} for name, flip in zip(names, flips, strict=True)}
        return {"task": "pairs", "units": 5, "results": {"bare": 0.01, **one}}

    found = inputs.summary("pairs", [record(100, 1, 0, 1, 1, 1, 1), record(200, 1, 0, 0, 1, 1, 1)])
    assert found["libraries"]["mase"]["evaluations"] == 150
    assert found["libraries"]["mase"]["ratio to bare"] == pytest.approx(1.5)  # the median of 2 and 1
    assert [found["libraries"][name]["Delta Accuracy"] for name in names[:3]] == [1, 0, 0.5]
    assert [found["libraries"][name]["mase minus it"][0] for name in names[1:4]] == [1, 0.5, 0]


@pytest.mark.pages
def test_the_page_has_every_library_on_every_kind_of_input(benchmarks):
    inputs, peers = benchmarks
    result = json.loads((FOLDER / "results" / "inputs.json").read_text(encoding="utf-8"))
    assert set(result["tasks"]) == set(inputs.TASKS)
    for task, found in result["tasks"].items():
        assert set(found["libraries"]) == set(peers.LIBRARIES[task])
        assert found["texts"] >= 20
