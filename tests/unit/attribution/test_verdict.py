"""Tests of `mase.attribution.verdict`."""

import numpy as np
import pytest
from tests.attributions import attribution

import mase
from mase.attribution.verdict import probability_of_staying
from mase.io.json import dumps, loads

WORDS = "a b c d e f g h i j k l"
SCORES = (9.0, -8.0, 7.0, 6.0, 5.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)


def by_length(texts):
    return [[1 / (1 + len(text)), 1 - 1 / (1 + len(text))] for text in texts]


def verdict(se=0.1, scores=SCORES, **changed):
    return attribution(WORDS, list(scores), se=se, **changed).verdict


def test_words_that_stay_make_a_result_reliable():
    found = verdict()
    assert found.reliable
    assert str(found) == "reliable: another seed would keep 4 of the 5 strongest words (probability > 99 %)"


def test_of_a_single_word_the_sign_is_judged():
    few, sure = (attribution("a", [0.5], se=se).verdict for se in (0.4, 0.2))
    assert not few.reliable
    assert sure.reliable
    assert str(sure) == "reliable: another seed would give the only word a score of the same sign"


def test_words_that_may_change_do_not():
    found = verdict(se=6.0)
    assert not found.reliable
    assert str(found).startswith("read with care: another seed may not keep 4 of the 5 strongest words (probability")


def test_nine_of_ten_seeds_have_to_agree():
    for se, least, most in ((1.6, 0.92, 0.97), (2.0, 0.78, 0.88)):
        assert least < probability_of_staying(np.array(SCORES), np.full(len(SCORES), se)) < most
        assert verdict(se=se).reliable == (least > 0.9)


def test_the_probability_is_that_of_two_seeds():
    # Two words that differ by d: the other one is listed with the probability Phi(d / 2s), since both seeds err.
    assert probability_of_staying(np.array([2.0, 1.0]), np.array([0.5, 0.5])) == pytest.approx(0.841, abs=0.05)
    rng = np.random.default_rng(1)
    truth, error = np.array(SCORES), 2.0
    first, other = (truth + error * rng.standard_normal((2000, truth.size)) for _ in range(2))
    top = [[set(np.argsort(-np.abs(row))[:5]) for row in many] for many in (first, other)]
    kept = np.mean([len(one & two) >= 4 for one, two in zip(*top, strict=True)])
    told = np.mean([probability_of_staying(row, np.full(truth.size, error)) for row in first[:200]])
    assert 0.5 < told <= kept  # Errors spread the scores themselves, so the probability is a cautious one.


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_opposite_signs_stay_as_often(seed):
    rng = np.random.default_rng(seed)
    scores, errors = rng.standard_normal(12), 0.3 * rng.random(12)
    assert probability_of_staying(-scores, errors) == probability_of_staying(scores, errors)


def test_ties_stay_and_rounding_is_no_difference():
    scores = np.array([1.0, *[0.0] * 11])
    assert probability_of_staying(scores, np.full(12, 1e-14)) == 1.0
    assert probability_of_staying(np.full(12, 5e-324), np.full(12, 1e300)) < 1.0


@pytest.mark.parametrize("code", ["constant", "few-samples", "poor-fit", "unstable"])
def test_a_note_about_the_scores_is_the_reason(code):
    found = verdict(notes=[(code, "beware"), ("reversed", "vectors were reversed")])
    assert (found.reliable, found.reasons) == (False, ("beware",))


def test_what_is_no_measured_estimate_is_never_reliable():
    assert verdict(se=None).reasons == ("the scores are not estimates",)
    assert "not measured" in str(verdict(r2=None))
    assert "order" in str(verdict(order=tuple(range(11, -1, -1))))
    assert not attribution("", [], tokens=()).verdict.reliable
    assert not mase.explain("a dull film", by_length, method="random").verdict.reliable


def test_scores_without_sampling_error_are_reliable():
    assert str(verdict(se=0.0)) == "reliable: the scores have no sampling error"


def test_of_a_short_text_the_stronger_half_is_judged():
    assert "the 2 strongest words" in str(attribution("a b c d", [4.0, 3.0, 0.2, 0.1], se=0.01).verdict)
    assert "the strongest word (" in str(attribution("a b", [4.0, 0.1], se=0.01).verdict)
    assert "the strongest word (" in str(attribution("a b c", [4.0, 3.0, 0.1], se=0.01).verdict)
    assert not attribution("a b c d", [4.0, 1.0, 1.0, 0.1], se=1.0).verdict.reliable


def test_a_loaded_result_has_the_same_verdict():
    found = mase.explain("A dull start, but the last hour is wonderful.", by_length, n_samples=100)
    assert loads(dumps(found)).verdict == found.verdict
