"""Tests of `mase.attribution.response`."""

import numpy as np

from mase.attribution import Response, ranking
from mase.attribution.response import in_order


def test_ranking_is_descending_with_ties_by_position():
    scores = np.random.default_rng(0).integers(-3, 4, size=200).astype(float)
    assert ranking(scores).tolist() == sorted(range(200), key=lambda index: (-scores[index], index))


def test_a_response_made_of_arrays():
    made = Response.of(
        "pos", "margin", 2.0, np.array([0.5, 1.0]), np.array([0.1, np.nan]), r2=None, token_scores=np.array([0.0, 1.5])
    )
    assert (made.scores, made.standard_errors, made.order) == ((0.5, 1.0), (0.1, None), (1, 0))
    assert (made.token_scores, made.intercept, made.signed, dict(made.effects)) == ((0.0, 1.5), 0.5, True, {})


def test_scores_that_differ_by_rounding_are_tied():
    scores = np.array([0.3, 1 - 1e-15, 0.3 + 1e-16, 1.0, -1e-20, 0.0])
    assert ranking(scores).tolist() == [1, 3, 0, 2, 4, 5]
    assert ranking(scores * 1e-200).tolist() == [1, 3, 0, 2, 4, 5]
    assert ranking([0.0, 0.0]).tolist() == [0, 1]
    assert in_order(scores, [3, 1, 2, 0, 5, 4])
    assert not in_order(scores, [0, 1, 2, 3, 4, 5])
