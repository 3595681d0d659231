"""Tests of `mase.solve.problem`."""

import numpy as np
import pytest

from mase.errors import ShapeError
from mase.solve.problem import Estimate

GROUPS = [np.array([0, 3]), np.array([1]), np.array([], dtype=np.int64), np.array([1, 2, 3])]


def test_sums_of_groups_have_the_errors_of_their_covariances():
    root = np.random.default_rng(0).standard_normal((4, 4))
    estimate = Estimate(np.array([1.0, 2.0, 3.0, 4.0]), root @ root.T, 5.0)
    sums, errors = estimate.sums(GROUPS)
    assert sums.tolist() == [5.0, 2.0, 0.0, 9.0]
    slow = [np.sqrt(sum(estimate.covariance[i, j] for i in group for j in group)) for group in GROUPS]
    assert errors == pytest.approx(slow)


def test_sums_of_many_coordinates_count_variances_alone():
    estimate = Estimate(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 4.0, 9.0, 16.0]), 5.0)
    assert estimate.sums(GROUPS)[1] == pytest.approx(np.sqrt([17.0, 4.0, 0.0, 29.0]))


def test_sums_of_what_estimates_nothing_have_no_error():
    estimate = Estimate(np.ones(4), np.full((4, 4), np.nan), 0.0)
    sums, errors = estimate.sums(GROUPS[:2])
    assert sums.tolist() == [2.0, 1.0]
    assert np.isnan(errors).all()


@pytest.mark.parametrize(
    ("gamma", "covariance"),
    [(np.ones(3), np.eye(3)), (np.ones(2), np.eye(3)), (np.ones(2), None), (np.ones((2, 1)), np.eye(2))],
)
def test_an_estimate_has_a_coefficient_for_each_coordinate_and_their_covariance(gamma, covariance):
    estimate = Estimate(gamma, covariance, 1.0)
    for active, p in (([0, 1], 2), ([0, 2], 3)):
        for one in (estimate, Estimate(np.ones(2), np.eye(2), 1.0, other_effects={"other": estimate})):
            with pytest.raises(ShapeError, match=r"expected \(2,\)"):
                one.embedded(np.array(active), p)
