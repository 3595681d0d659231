"""Tests of `mase.metrics.curves`."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from tests.unit.metrics.additive import additive, case, worths

from mase.attribution.response import ranking
from mase.errors import OptionError
from mase.metrics import METRICS
from mase.metrics.base import Cache, Instance
from mase.metrics.curves import best_order, eraser
from mase.metrics.masking import Masker, masker, with_cache
from mase.models import Callable
from mase.text import Words


def test_naopc_of_an_additive_model_is_1_for_its_worths_and_0_for_their_opposite(additive_model):
    found = METRICS["naopc"]().evaluate(
        case(additive_model, "superb cast but dull plot", worths("superb cast but dull plot"))
    )
    assert np.allclose(found[:2], [1, 0])
    opposite = METRICS["naopc"]().evaluate(
        case(additive_model, "superb cast but dull plot", -worths("superb cast but dull plot"))
    )
    assert np.allclose(opposite[:2], [0, 1])


def test_bounds_of_naopc_are_remembered_by_class_and_beam(additive_model):
    one = case(additive_model, "superb cast but dull plot", worths("superb cast but dull plot"))
    for shared in (one, replace(one, target=0)):
        alone = replace(shared, cache=Cache())
        assert np.array_equal(METRICS["naopc"]().evaluate(shared), METRICS["naopc"]().evaluate(alone))
    METRICS["naopc"](beam=1).evaluate(one)
    assert len(one.cache.values) == 3


def test_naopc_of_a_constant_model_has_no_value():
    flat = Callable(lambda texts: [[0.4, 0.6] for _ in texts])
    assert np.isnan(METRICS["naopc"]().evaluate(case(flat, "a b c", [1.0, 2.0, 3.0]))[:2]).all()


def test_a_wide_beam_finds_the_bounds_of_all_orders():
    """A greedy search finds others, for a model that answers at random."""
    words, table = list("abcde"), np.random.default_rng(0).random(32)

    def predict(texts):
        chances = [table[sum(1 << index for index, word in enumerate(words) if word in text)] for text in texts]
        return [[1 - chance, chance] for chance in chances]

    one = case(Callable(predict, labels=["no", "yes"]), " ".join(words), np.arange(5.0))
    drops = []
    for order in permutations(words):
        texts = ["".join(words), *("".join(order[k:]) for k in range(1, 6))]
        chances = np.array(predict(texts))[:, one.target]
        drops.append(chances[0] - chances[1:].mean())
    bounds = pytest.approx([max(drops), min(drops)])
    assert METRICS["naopc"](beam=100).evaluate(one)[2:] == bounds
    assert METRICS["naopc"](beam=1).evaluate(one)[2:] != bounds


TEXT = "the cast is superb but the plot is dull and that's all"


WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "good": 0.09, "all": 0.03, "but": -0.05}


def test_masking_metrics_in_one_slow_line_each():
    text = "one superb but dull cast and good plot all in"
    model, words = Callable(additive, labels=["neg", "pos"]), text.split()
    scores = np.array([WORTH.get(word, 0.0) for word in words]) + np.random.default_rng(2).normal(0, 0.05, len(words))
    order = sorted(range(len(words)), key=lambda i: -scores[i])

    def p(kept):
        return additive([" ".join(word for i, word in enumerate(words) if i in kept)])[0][1]

    whole, n, every = p(range(len(words))), len(words), set(range(len(words)))
    out, only = [p(every - set(order[:k])) for k in range(n + 1)], [p(set(order[:k])) for k in range(n + 1)]
    bottom = [p(every - set(order[n - k :])) for k in range(n + 1)]
    ks = [1, 1, 1, 2, 5]
    one = case(model, text, scores)
    assert one.target == 1
    shares = [whole - out[k] for k in ks]
    assert np.allclose(METRICS["comprehensiveness"](ks=(3,)).evaluate(one), [np.mean(shares), whole - out[3], *shares])
    kept = [whole - only[k] for k in ks]
    assert np.allclose(METRICS["sufficiency"](ks=(3,)).evaluate(one), [np.mean(kept), whole - only[3], *kept])
    assert np.allclose(METRICS["log-odds"]().evaluate(one), np.log(out[2] / whole))
    assert np.allclose(
        METRICS["aopc"]().evaluate(one), [np.mean([whole - q for q in curve[1:]]) for curve in (out, bottom)]
    )
    assert np.allclose(METRICS["deletion"]().evaluate(one), np.trapezoid(out, dx=1 / n))
    assert np.allclose(METRICS["insertion"]().evaluate(one), np.trapezoid(only, dx=1 / n))


def test_eraser_of_many_orders_is_the_metrics_of_each(lstm_model):
    """One implementation, asked in two ways: by scores, text by text, and by the orders of all methods at once."""
    rng = np.random.default_rng(0)
    for text in (TEXT, "superb"):
        bound = masker(lstm_model, text)
        every = [rng.normal(size=len(bound.words)) for _ in range(3)]
        found = eraser(bound, bound.target, [ranking(scores) for scores in every])
        for row, scores in zip(found, every, strict=True):
            one = Instance(lstm_model, text, bound.target, bound, scores)
            slow = [METRICS[name]().evaluate(one)[0] for name in ("comprehensiveness", "sufficiency", "log-odds")]
            assert row == pytest.approx(slow, abs=1e-6)


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
