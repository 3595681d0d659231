"""Tests of `mase.procedures.random`."""

import numpy as np

import mase


def test_random_orders_are_uniform_and_ask_nothing(lstm):
    first = [
        int(np.argmax(mase.Explainer(lstm, method="random", seed=s, evidence=0)("one two three").scores))
        for s in range(300)
    ]
    assert np.bincount(first, minlength=3).min() > 70  # 100 each; 70 is 3.7 standard deviations below
    found = mase.Explainer(lstm, method="random", evidence=0)("a xyzzyx film")  # an unknown word takes part, too
    assert (found.scores > 0).all()
    assert found.fit.n_queries <= 2
