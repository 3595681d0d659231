"""Tests of `mase.testing.models`."""

import hashlib

import numpy as np
import pytest

import mase
from mase.errors import OptionError
from mase.models import Callable
from mase.models.language.open import load_language_model
from mase.testing import AdditiveClassifier, LogisticClassifier
from mase.testing.models import FOLDER, lookups


@pytest.fixture(scope="module")
def model():
    return load_language_model(FOLDER)


def test_the_weights_are_those_that_the_readme_describes():
    sha256 = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    assert sha256 in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_model_answers_with_the_right_sources(model):
    for one in lookups(3, seed=5, n_sources=8, n_asked=2):
        found = mase.cite(model, context=one.sources, query=one.query, units="document", n_samples=32)
        assert found.answer.text == one.answer
        first, second = (found.of(part.response).order[0] for part in found.answer.parts)
        assert (first, second) == one.used
        assert {*found.order[:2].tolist()} == {*one.used}


def test_questions_are_random_and_have_one_answer():
    one, other = lookups(2, n_sources=24, n_asked=3)
    assert one != other
    assert one == lookups(1, n_sources=24, n_asked=3)[0]
    assert one.answer == " ".join(one.sources[index] for index in one.used)
    assert len({source.split()[0] for source in one.sources}) == 24
    np.testing.assert_array_equal([name in one.query for name in ("What do", " and ")], True)
    for wrong in ({"n_sources": 25}, {"n_asked": 9}, {"n_asked": 0}):
        with pytest.raises(OptionError, match="n_asked"):
            lookups(1, **wrong)


TEXT = "a superb cast but a dull, dull plot"


def scores(function, link):
    found = mase.Explainer(Callable(function, labels=["neg", "pos"]), method="occlusion", link=link)(TEXT, target="pos")
    return {word.text: word.score for word in found.word_scores}


def test_the_score_of_a_word_is_its_worth():
    found = scores(AdditiveClassifier({"superb": 0.2, "plot": -0.05}), "probability")
    assert found["superb"] == pytest.approx(0.2)
    assert found["plot"] == pytest.approx(-0.05)
    assert found["cast"] == 0


def test_log_odds_are_linear_in_the_counts():
    function = LogisticClassifier({"superb": 1.5, "dull": -1.0})
    assert scores(function, "logit")["dull"] == pytest.approx(-1.0)
    assert np.diff(np.log(function([TEXT]))).item() == pytest.approx(1.5 - 2.0)
