"""Tests of `mase.procedures.search`."""

import itertools

import numpy as np
import pytest
from tests.regressions import run

import mase
from mase.errors import OptionError, TooFewSamplesError
from mase.methods import METHODS, Method
from mase.procedures.search import BeamSearch
from mase.testing import linear, smooth


def search(probe, beam, n=1000):
    return run(probe, Method("one", "", METHODS["beam-search"].space, BeamSearch(beam), n_samples=n))


def order(found):
    return np.argsort(-found.estimate.gamma).tolist()


def responses(probe, words):
    """Return the responses with the first 1, 2, ... of the words masked."""
    rows = np.ones((len(words), probe.size))
    for step, word in enumerate(words):
        rows[step:, word] = 0
    return probe.function(rows)


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_is_the_best_of_all_orders(seed):
    probe = smooth(5, seed)
    best = min(itertools.permutations(range(5)), key=lambda words: responses(probe, words).sum())
    found = search(probe, beam=10)
    assert order(found) == list(best)
    assert (
        found.cost.n_queries - probe.n_setup - found.cost.n_compared == 2**5 - 1
    )  # every set of words but that of the text


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed):
    probe, words = smooth(9, seed), []
    while len(words) < 9:
        words.append(min(set(range(9)) - {*words}, key=lambda word: responses(probe, [*words, word])[-1]))
    found = run(probe, "greedy-search")
    assert order(found) == words
    assert found.cost.n_queries - probe.n_setup - found.cost.n_compared == sum(range(10))


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("n", [12, 20, 50, 77])
def test_the_budget_is_kept_and_spent(beam, n):
    probe = smooth(12)
    found = search(probe, beam, n)
    assert found.cost.n_queries - probe.n_setup - found.cost.n_compared == n
    assert sorted(order(found)) == list(range(12))


def test_words_that_are_left_follow_by_their_last_drop():
    probe = smooth(8)
    alone = probe.function(np.ones((1, 8))) - probe.function(1 - np.eye(8))
    assert order(search(probe, 1, n=8)) == np.argsort(-alone).tolist()
    first = int(alone.argmax())
    without = np.ones((8, 8)) - np.eye(8)
    without[:, first] = 0
    second = np.where(np.arange(8) == first, -np.inf, -probe.function(without))
    assert order(search(probe, 1, n=15)) == [first, *np.argsort(-second)[:-1]]


def test_a_step_that_is_cut_short_asks_about_the_most_promising_words():
    gamma = np.array([0.1, 0.2, 0.9, 0.4, -0.5, 0.3])
    probe = linear(gamma)
    asked = []
    watched = type(probe)(lambda c: (asked.extend(c.tolist()), probe.function(c))[1], probe.size)
    search(watched, 1, n=8)
    assert {tuple(row) for row in asked[-2:]} == {(1, 1, 0, 0, 1, 1), (1, 1, 0, 1, 1, 0)}


def test_scores_are_places_with_the_signs_of_words_masked_alone():
    gamma = np.array([0.3, -0.2, 0.9, 0.1, -0.7])
    found = run(linear(gamma), "greedy-search")
    assert found.estimate.gamma.tolist() == [1.5, -0.5, 2.5, 0.5, -1.5]
    assert np.isnan(found.estimate.variances).all()
    assert [note.code for note in found.notes] == ["places"]


def test_what_a_search_cannot_do():
    with pytest.raises(TooFewSamplesError, match="n_samples leaves 8 for the scores, expected at least 9"):
        search(smooth(9), 1, n=8)
    with pytest.raises(OptionError, match="beam is 0"):
        BeamSearch(0)


@pytest.mark.parametrize("method", ["greedy-search", "beam-search"])
def test_a_model_that_never_changes_is_said_to_be_constant(method):
    never = mase.explain("this is a film", lambda texts: [[0.3, 0.7]] * len(texts), method=method, n_samples=50)
    assert "constant" in [note.code for note in never.notes]
    both = mase.explain(
        "this is a film",
        lambda texts: [[0.3, 0.7] if {"this", "film"} & set(text.split()) else [0.6, 0.4] for text in texts],
        method=method, n_samples=50,
    )  # fmt: skip
    assert "constant" not in [note.code for note in both.notes]
