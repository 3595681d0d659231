"""Tests of `mase.estimators.fixed_ridge`."""

import numpy as np

import mase
from mase.models import Callable


def test_intervals_of_few_rows_far_from_the_mean_cover():
    """Nearly all weight of `lime` is on the rows that keep the only word: they decide the intercept alone."""
    covered = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        model = Callable(lambda texts, rng=rng: rng.normal(size=(len(texts), 1)), labels=["v"], outputs="values")
        found = mase.Explainer(model, method="lime", n_samples=60, seed=seed)("film")
        covered.append(abs(found.scores[0]) <= 1.96 * found.standard_errors[0])
    assert np.mean(covered) > 0.8
