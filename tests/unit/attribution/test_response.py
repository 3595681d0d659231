"""Tests of `mase.attribution.response`."""

import numpy as np

from mase.attribution import Response, ranking


def test_ranking_is_descending_with_ties_by_position():
    scores = np.random.default_rng(0).integers(-3, 4, size=200).astype(float)
    assert ranking(scores).tolist() == sorted(range(200), key=lambda index: (-scores[index], index))


def test_a_response_made_of_arrays():
    made = Response.of(
        "pos", "margin", 2.0, np.array([0.5, 1.0]), np.array([0.1, np.nan]), r2=None, token_scores=np.array([0.0, 1.5])
    )
    assert (made.scores, made.standard_errors, made.order) == ((0.5, 1.0), (0.1, None), (1, 0))
    assert (made.token_scores, made.intercept, made.signed, dict(made.effects)) == ((0.0, 1.5), 0.5, True, {})
