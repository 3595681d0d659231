"""Tests of `mase.metrics.rationales`."""

import numpy as np
import pytest
from tests.unit.metrics.additive import additive, case

from mase.metrics import METRICS
from mase.metrics.masking import masker
from mase.metrics.protocol import Instance
from mase.metrics.ranking import ranking
from mase.metrics.rationales import eraser
from mase.models import Callable

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
