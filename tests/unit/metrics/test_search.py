"""Tests of `mase.metrics.search`."""

from itertools import permutations

import numpy as np
import pytest

from mase.errors import OptionError
from mase.metrics.masking import Masker, masker, with_cache
from mase.metrics.search import best_order
from mase.models import Callable
from mase.text import Words

TEXT = "the cast is superb but the plot is dull and that's all"


def crooked(texts):
    """Words that matter only together, or only without another."""
    found = []
    for text in texts:
        a, b, c, d = (word in text.split() for word in "abcd")
        found.append(0.3 + 0.4 * (a and b) + 0.2 * (c and not d) - 0.15 * (b and c))
    return [[1 - chance, chance] for chance in found]


def areas(bound):
    """AOPC of every order of the words, by brute force."""
    w = len(bound.words)
    found = {}
    for order in permutations(range(w)):
        kept = np.array([[word not in order[: i + 1] for word in range(w)] for i in range(w)])
        found[order] = bound.text_probabilities[1] - bound.probabilities(kept)[:, 1].mean()
    return found


@pytest.mark.parametrize("text", ["a b c d e", "d c b a", "b c"])
def test_a_wide_beam_finds_the_best_and_the_worst_of_all_orders(text):
    bound = with_cache(masker(Callable(crooked), text))
    every = areas(bound)
    for lowest, extreme in ((True, max), (False, min)):
        order = best_order(bound, 1, beam=1000, lowest=lowest)
        assert every[tuple(order.tolist())] == pytest.approx(extreme(every.values()))
    narrow = every[tuple(best_order(bound, 1, beam=1).tolist())]
    assert narrow <= max(every.values()) + 1e-12


def test_greedy_takes_the_best_next_word():
    text = "a b c d e"
    bound, left, slow = masker(Callable(crooked), text), list(range(5)), []
    while left:
        chances = [bound.probabilities(np.array([[w in left and w != gone for w in range(5)]]))[0, 1] for gone in left]
        slow.append(left.pop(int(np.argmin(chances))))
    assert best_order(bound, 1, beam=1, goal="end").tolist() == slow
    assert best_order(bound, 1, beam=1, depth=2, goal="end").tolist() == slow[:2] + sorted(slow[2:])


@pytest.mark.parametrize("goal", ["area", "end"])
@pytest.mark.parametrize("beam", [1, 2, 3])
def test_beam_search_against_a_slow_one(goal, beam):
    """Use a table of random probabilities for all sets of 6 words; each set is reached once per step, the best way."""
    w = 6
    for seed in range(10):
        table = np.random.default_rng(seed).random(2**w)

        def chance(gone, table=table):
            return table[sum(1 << word for word in gone)]

        beams = [((), 0.0)]
        for _ in range(w):
            best = {}
            for order, total in beams:
                for word in set(range(w)) - set(order):
                    now = chance((*order, word)) + (total if goal == "area" else 0)
                    gone = frozenset((*order, word))
                    best[gone] = min(best.get(gone, ((), np.inf)), ((*order, word), now), key=lambda one: one[1])
            beams = sorted(best.values(), key=lambda one: one[1])[:beam]

        def answers(kept, chance=chance):
            found = np.array([chance(np.flatnonzero(~row)) for row in kept])
            return np.stack([1 - found, found], axis=1)

        words = Words(tuple((i, i + 1) for i in range(w)), tuple(range(w)))
        bound = Masker(words, "delete", answers(np.ones((1, w), dtype=bool))[0], answers)
        assert tuple(best_order(bound, 1, beam=beam, goal=goal)) == beams[0][0]


def test_search_says_what_it_cannot_do(additive_model):
    bound = masker(additive_model, TEXT)
    for wrong in ({"beam": 0}, {"depth": 0}, {"depth": 1.5}, {"goal": "best"}):
        with pytest.raises(OptionError):
            best_order(bound, 1, **wrong)
