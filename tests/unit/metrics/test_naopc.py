"""Tests of `mase.metrics.naopc`."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from tests.unit.metrics.additive import case, worths

from mase.metrics import METRICS
from mase.metrics.protocol import Cache
from mase.models import Callable


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
