"""Tests of `mase.attribution.attribution`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.attributions import attribution, two_fields

import mase
from mase.attribution import Word
from mase.errors import OptionError, UnknownNameError
from mase.testing import AdditiveClassifier


def test_words_are_a_view_of_units_and_the_first_response():
    made = two_fields()
    assert made.words == ("Great", "film", "Dull")
    assert made.spans == ((0, 5), (6, 10), (0, 4))
    assert made.word_scores[2] == Word("Dull", 0, 4, "hypothesis", -0.5, 0.2, 0.2)
    assert made.as_list() == [("Great", 1.0), ("film", 0.0), ("Dull", -0.5)]
    assert made.scores.tolist() == [1.0, 0.0, -0.5]
    assert np.isnan(made.standard_errors).tolist() == [False, True, False]
    assert (made.target, made.link, made.response, made.intercept) == ("pos", "margin", 1.5, 1.0)
    assert made.target_probability == 0.8
    assert made.text == "Great film\nDull\nbe brief"


@pytest.mark.parametrize("name", ["scores", "standard_errors", "order"])
def test_arrays_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(attribution(), name)[0] = 1


def test_another_response_can_come_first():
    made = two_fields()
    other = made.of("neg")
    assert (other.target, other.response, other.target_probability) == ("neg", -1.5, 0.2)
    assert other.scores.tolist() == [-1.0, 0.25, 0.5]
    assert [response.name for response in other.responses] == ["neg", "pos"]
    assert other.of("pos") == made == made.of("pos")
    assert "Attribution for neg" in repr(other)
    with pytest.raises(UnknownNameError, match="did you mean 'neg'"):
        made.of("negg")


def test_an_effect_can_be_the_score():
    made = two_fields()
    kept = {"kept": (0.25, -1.0, 0.5), "kept_error": (0.1, 0.2, 0.3)}
    first = replace(made.responses[0], effects=kept, r2=0.9, split_half=0.8)
    found = replace(made, responses=(first, made.responses[1])).effect("kept")
    assert found.scores.tolist() == [0.25, -1.0, 0.5]
    assert found.standard_errors.tolist() == [0.1, 0.2, 0.3]
    assert [word.text for word in found.top(2)] == ["Dull", "Great"]
    assert [response.name for response in found.responses] == ["pos"]
    assert (found.r2, found.fit.split_half, found.responses[0].effects) == (None, None, {})
    for name in ("keptt", "kept_error"):
        with pytest.raises(UnknownNameError, match="kept"):
            replace(made, responses=(first,)).effect(name)
    with pytest.raises(UnknownNameError, match="effect"):
        made.effect("kept")


def test_an_effect_is_shown_without_the_evidence_about_the_scores():
    """Its units are the best ones by the scores, and of the leading response, which need not be there."""
    found = mase.Explainer(AdditiveClassifier({"good": 0.2}), evidence=1)("a good film", target="all")
    shown = found.of(found.responses[1].name).effect("kept")
    assert found.evidence is not None
    assert shown.evidence is None
    assert "good" in repr(shown)


def test_a_run_has_both_effects_whichever_is_the_score():
    """They are exact where all subsets of the words are asked, and the same from the same samples."""

    def predict(texts):
        return [[0.1, 0.9] if {"truly", "great"} <= set(text.split()) else [0.6, 0.4] for text in texts]

    for text in ("a truly great film", " ".join(f"w{n}" for n in range(20)) + " truly great"):
        default, rationale = (
            mase.Explainer(predict, method=method, n_samples=200)(text, target=1)
            for method in ("mase", "mase-rationale")
        )
        assert default.effect("kept").scores == pytest.approx(rationale.scores, abs=1e-6)
        assert rationale.effect("removed").scores == pytest.approx(default.scores, abs=1e-6)
        assert rationale.effect("removed").standard_errors == pytest.approx(default.standard_errors, abs=1e-6)
        assert rationale.scores.max() > 1.2 * default.scores.max()  # each is of use only beside the other


def test_top_lists_follow_the_order_of_the_method():
    other = two_fields().of("neg")
    assert [word.text for word in other.top(2)] == ["film", "Dull"]
    assert [word.text for word in other.top(2, by="score")] == ["Dull", "film"]
    assert [word.text for word in other.top(2, by="magnitude")] == ["Great", "Dull"]


def test_the_order_is_that_of_the_scores_with_ties_in_reading_order():
    made = attribution("a b c d e", [0.5, -1.0, 0.5, 1.0, 0.0])
    assert made.order.tolist() == [3, 0, 2, 4, 1]
    assert [word.text for word in made.top()] == [word.text for word in made.top(by="score")] == list("daceb")
    assert [word.text for word in made.top(2, by="magnitude")] == ["b", "d"]
    for method in ("mase", "occlusion", "random"):
        found = mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], method=method, n_samples=60)("a b a c")
        assert found.order.tolist() == sorted(range(4), key=lambda index: (-found.scores[index], index))


@pytest.mark.parametrize(("k", "by"), [(-1, "order"), (True, "order"), (2.0, "score"), (1, "rank")])
def test_top_refuses_what_is_no_number_or_order(k, by):
    with pytest.raises(OptionError, match="expected"):
        attribution().top(k, by=by)


def test_scores_of_lengths_have_no_sign(lstm_model):
    assert not mase.Explainer(lstm_model, method="gradient")("a good film").signed
    assert mase.Explainer(lstm_model, method="gradient-x-input")("a good film").signed
