"""Tests of `mase.attribution.evidence`."""

import zlib

import numpy as np
import pytest
from tests.attributions import attribution

import mase
from mase.attribution.evidence import certain_places
from mase.attribution.json import dumps, loads
from mase.render.marks import scale_of

WORDS = "a b c d e f g h i j k l"
SCORES = (9.0, -8.0, 7.0, 6.0, 5.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)


def by_length(texts):
    return [[1 / (1 + len(text)), 1 - 1 / (1 + len(text))] for text in texts]


def verdict(se=0.1, scores=SCORES, **changed):
    return attribution(WORDS, list(scores), se=se, **changed).verdict


def test_places_that_hold_are_counted():
    found = verdict()
    assert (found.reliable, found.certain) == (True, 5)
    assert str(found) == "reliable: the 5 strongest words are certain, 6th place is open"
    one = attribution("a b c", [9.0, 1.0, 1.0], se=0.5).verdict
    assert str(one) == "reliable: the strongest word is certain, 2nd place is open"
    assert str(attribution("a b c", [9.0, -4.0, 0.1], se=0.5).verdict) == "reliable: the 2 strongest words are certain"


def test_of_a_single_word_the_sign_is_judged():
    few, sure = (attribution("a", [0.5], se=se).verdict for se in (0.6, 0.2))
    assert (few.reliable, few.certain) == (False, 0)
    assert (sure.reliable, sure.certain) == (True, 1)
    assert str(sure) == "reliable: the only word has a certain sign"


def test_without_a_certain_place_it_is_read_with_care():
    found = verdict(se=6.0)
    assert (found.reliable, found.certain) == (False, 0)
    assert str(found) == "read with care: no place is certain: another seed may find another strongest word"


def test_a_larger_set_may_be_certain_where_its_order_is_not():
    """Two words that tie, far ahead of the others."""
    assert attribution("a b c d e", [5.0, 5.0, 1.0, 0.9, 0.8], se=0.3).verdict.certain == 2


@pytest.mark.parametrize(("gap", "certain"), [(1.5, 0), (2.1, 1)])
def test_the_probability_is_that_of_two_seeds(gap, certain):
    """A score of g with an error of 1 keeps its sign with probability Phi(g / sqrt 2): .9 is that of g = 1.81."""
    assert certain_places(np.array([gap]), np.array([1.0])) == certain


def test_signs_have_to_hold():
    assert certain_places(np.array([1.0, 1.0]), np.array([2.0, 2.0])) == 0
    assert certain_places(np.array([1.0, -1.0, 0.0]), np.array([0.1, 0.1, 0.1])) == 2


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_opposite_signs_are_as_certain(seed):
    rng = np.random.default_rng(seed)
    scores, errors = rng.standard_normal(12), 0.3 * rng.random(12)
    assert certain_places(-scores, errors) == certain_places(scores, errors)


def test_rounding_is_no_difference_and_zeros_have_no_place():
    assert certain_places(np.array([1.0, *[0.0] * 11]), np.full(12, 1e-14)) == 1
    assert certain_places(np.full(12, 5e-324), np.full(12, 1e300)) == 0
    assert certain_places(np.zeros(12), np.zeros(12)) == 0


def test_places_called_certain_hold_for_another_seed():
    """Of draws of two seeds from one truth more than 97 % of the places hold."""
    rng, certain, held = np.random.default_rng(1), 0, 0
    for _ in range(400):
        truth, error = rng.standard_t(3, 30), 0.2
        one, other = (truth + error * rng.standard_normal(30) for _ in range(2))
        k = certain_places(one, np.full(30, error))
        first, second = (np.argsort(-np.abs(each))[:k] for each in (one, other))
        certain += k
        held += sum(word in second and np.sign(one[word]) == np.sign(other[word]) for word in first)
    assert certain > 400
    assert held / certain > 0.97


def test_where_nothing_matters_it_says_so_and_marks_no_word():
    """An untrained model: .5 and a trifle, which every word changes."""

    def hardly(texts):
        share = [0.5 + 1e-6 * text.count("a") for text in texts]
        return [[1 - one, one] for one in share]

    found = mase.explain("a plain cat sat at a mat and ate a rat", hardly, n_samples=300)
    assert (found.verdict.reliable, found.verdict.matters) == (False, False)
    assert str(found.verdict).startswith("nothing matters: no copy of the text that was asked changes the probability")
    assert not scale_of(found).levels(found.scores, 6).any()
    more = mase.explain("a plain cat sat at a mat and ate a rat", by_length, n_samples=300)
    assert more.verdict.matters
    assert scale_of(more).levels(more.scores, 6).any()


def test_a_saturated_probability_matters_by_its_odds():
    def sure(texts):
        return [[10.0 ** -(3 + text.count("a")), 1 - 10.0 ** -(3 + text.count("a"))] for text in texts]

    assert mase.explain("a cat sat at a mat", sure).verdict.matters


def test_models_that_cost_little_are_asked_on_where_no_place_is_certain():
    """A hash of the words: with automatic samples, all that are left are asked, and a number is kept to."""

    def hashed(texts):
        share = [0.1 + 0.8 * (zlib.crc32(text.encode()) % 1000) / 1000 for text in texts]
        return [[1 - one, one] for one in share]

    text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    found = mase.explain(text, hashed)
    assert 700 <= found.fit.n_queries <= 1004  # some rows are equal
    assert mase.explain(text, hashed) == found
    assert mase.explain(text, hashed, n_samples=380).fit.n_queries < 390

    def clear(texts):
        return [[0.9, 0.1] if "seven" in text else [0.2, 0.8] for text in texts]

    sure = mase.explain(text, clear)
    assert sure.verdict.certain
    assert sure.fit.n_queries < 390


@pytest.mark.parametrize("code", ["constant", "few-samples", "poor-fit"])
def test_a_note_about_the_scores_is_the_reason(code):
    found = verdict(notes=[(code, "beware"), ("reversed", "vectors were reversed")])
    assert (found.reliable, found.certain) == (False, 5)
    assert found.reasons == ("beware", "the 5 strongest words are certain, 6th place is open")


def test_what_is_no_measured_estimate_is_never_reliable():
    assert verdict(se=None).reasons == ("the scores are not estimates",)
    assert "not measured" in str(verdict(r2=None))
    assert "order" in str(verdict(order=tuple(range(11, -1, -1))))
    assert not attribution("", [], tokens=()).verdict.reliable
    assert not mase.explain("a dull film", by_length, method="random").verdict.reliable


def test_scores_without_sampling_error_are_reliable():
    assert str(verdict(se=0.0)) == "reliable: the scores have no sampling error"


def test_a_loaded_result_has_the_same_verdict():
    found = mase.explain("A dull start, but the last hour is wonderful.", by_length, n_samples=100)
    assert loads(dumps(found)).verdict == found.verdict
