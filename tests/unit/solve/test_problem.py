"""Tests of `mase.solve.problem`."""

from dataclasses import replace

import numpy as np
import pytest

from mase.errors import ShapeError
from mase.solve import distributions
from mase.solve.problem import Estimate, Sample

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


@pytest.mark.parametrize("whole", [True, False])
def test_coefficients_of_all_coordinates_are_these_and_zeros(monkeypatch, whole):
    """And so are covariances, biases and those of other effects."""
    monkeypatch.setattr(distributions, "MOST_CORRELATED", 4 if whole else 3)
    root, active = np.random.default_rng(0).standard_normal((2, 2)), np.array([2, 0])
    place = np.eye(4)[:, active]
    covariance = root @ root.T
    kept = covariance if whole else np.diag(covariance)
    other = Estimate(np.array([5.0, 6.0]), 2 * kept, 1.0)
    estimate = Estimate(np.array([1.0, 2.0]), kept, 1.0, bias=np.array([0.1, 0.2]), other_effects={"other": other})
    found = estimate.embedded(active, 4)
    for one, scale, gamma in (
        (found, 1, [2.0, 0.0, 1.0, 0.0]),
        (found.other_effects["other"], 2, [6.0, 0.0, 5.0, 0.0]),
    ):
        expected = scale * (place @ covariance @ place.T)
        assert one.gamma.tolist() == gamma
        assert one.covariance == pytest.approx(expected if whole else np.diag(expected))
        assert one.covariances(active, active[:1]) == pytest.approx(
            expected[np.ix_(active, active[:1])] if whole else np.diag(np.diag(expected)[active])[:, :1]
        )
    assert found.bias.tolist() == [0.2, 0.0, 0.1, 0.0]
    assert found.other_effects["other"].bias is None
    assert found.at(active).gamma.tolist() == [1.0, 2.0]
    assert found.at(active).bias.tolist() == [0.1, 0.2]
    assert found.at(active).covariance == pytest.approx(kept)


def test_total_errors_have_the_bias_of_a_prior():
    estimate = Estimate(np.ones(4), np.diag([9.0, 16.0, 0.0, 0.0]), 1.0, bias=np.array([4.0, 1.0, 1.0, 2.0]))
    assert estimate.total_errors(GROUPS) == pytest.approx(np.sqrt([9 + 6**2, 16 + 1, 0, 16 + 4**2]))
    assert Estimate(np.ones(4), np.eye(4), 1.0).total_errors(GROUPS) == pytest.approx(np.sqrt([2, 1, 0, 3]))


def test_a_change_is_of_other_effects_too():
    other = Estimate(np.full(2, 3.0), np.eye(2), 1.0)
    estimate = Estimate(np.ones(2), np.eye(2), 1.0, other_effects={"other": other})
    found = estimate.every(lambda item: replace(item, gamma=2 * item.gamma))
    assert found.gamma.tolist() == [2.0, 2.0]
    assert found.other_effects["other"].gamma.tolist() == [6.0, 6.0]


def test_draws_are_normal_about_the_coefficients():
    estimate = Estimate(np.array([1.0, -2.0]), np.array([4.0, 0.25]), 1.0)
    draws = estimate.draws(np.random.default_rng(0), 20_000, 0.5)
    assert draws.mean(axis=0) == pytest.approx([1, -2], abs=0.03)
    assert draws.std(axis=0) == pytest.approx([1, 0.25], rel=0.03)


def test_mirrored_rows_are_half_differences():
    """Of rows, weights, responses and gradients, and each round has its own ends."""
    rng = np.random.default_rng(0)
    half, y, slopes = rng.standard_normal((3, 2)), rng.standard_normal(6), rng.standard_normal((6, 2))
    rows, weights = np.repeat(half, 2, axis=0) * np.array([1.0, -1.0] * 3)[:, None], rng.uniform(1, 2, 6)
    sample = Sample(1 + rows, rows, weights, True, 1.0, distributions.covariance(1.0, np.ones(2)))
    problem = sample.problem(y, 7.0, slopes)
    assert problem.z.tolist() == half.tolist()
    assert problem.y == pytest.approx([(y[2 * i] - y[2 * i + 1]) / 2 for i in range(3)])
    assert problem.weights == pytest.approx([(weights[2 * i] + weights[2 * i + 1]) / 2 for i in range(3)])
    assert problem.gradients == pytest.approx(np.array([(slopes[2 * i] + slopes[2 * i + 1]) / 2 for i in range(3)]))
    assert (problem.base, problem.intercept, problem.n_intercepts) == (0.0, False, 0)
    joined = sample.joined(sample.head(4)).joined(sample)
    assert joined.starts == (0, 6, 10)
    assert joined.coordinates.tolist() == [*(1 + rows).tolist(), *(1 + rows[:4]).tolist(), *(1 + rows).tolist()]
    assert joined.head(10).starts == (0, 6)
    assert joined.scaled(2.0).weights == pytest.approx(2 * np.concatenate([weights, weights[:4], weights]))


@pytest.mark.parametrize("ndim", [1, 2])
def test_an_estimate_of_sums(ndim):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    covariance = root @ root.T if ndim == 2 else rng.random(4)
    estimate = Estimate(rng.normal(size=4), covariance, 4.0)
    groups = [np.array([0, 2]), np.array([1]), np.array([3])]
    found = estimate.summed(groups)
    sums, errors = estimate.sums(groups)
    assert found.gamma == pytest.approx(sums)
    assert np.sqrt(found.variances) == pytest.approx(errors)
    between = estimate.covariances(groups[0], groups[1]).sum()
    assert found.covariances(np.array([0]), np.array([1])) == pytest.approx(between)
    assert estimate.summed([np.array([index]) for index in range(4)]) is estimate
