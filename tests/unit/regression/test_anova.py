"""Tests of `mase.regression.anova`: the integrals against sums over all rows."""

import numpy as np
import pytest

from mase.designs.placement import subsets
from mase.regression.anova import Coefficients, InteractionKernel
from mase.regression.laws import Laws, Mixture

P = 5
ROWS = subsets(P)
SIGNS = 2 * ROWS - 1
SHARES = np.array([[0.7, 0.1, 0.5, 0.9, 0.3], [0.3, 0.9, 0.5, 0.1, 0.7]])
WEIGHTS = {
    "few interact": np.array([0.05, 0.1, 0.2, 0.02, 0.1]),
    "many interact": np.array([0.9, 0.5, 0.7, 0.99, 0.3]),
    "each row has its own value": np.full(P, 1 - 1e-9),
}


def laws():
    """Return two laws of shares .7 and .3, the second of which always keeps two coordinates."""
    rates = np.array([[0.5, 0.2, 0.9, 0.4, 0.7], [1.0, 1.0, 0.6, 0.5, 0.3]])
    return Laws(np.repeat([[0.7], [0.3]], 10, axis=1), rates)


def least_squares():
    """Return the matrix `(5, 32)` that takes the responses of all rows to their coefficients under the laws."""
    rates = laws().rates
    by_law = [np.where(ROWS == 1, some, 1 - some).prod(axis=1) for some in rates]
    weighted = [
        share * (ROWS - some).T * weights for share, some, weights in zip((0.7, 0.3), rates, by_law, strict=True)
    ]
    gram = sum(one @ (ROWS - some) for one, some in zip(weighted, rates, strict=True))
    return np.linalg.inv(gram) @ sum(weighted)


def kernel(weights):
    products = np.prod(1 + weights * SIGNS[:, None] * SIGNS[None], axis=2)
    return (products - 1 - (SIGNS * weights) @ SIGNS.T) / (np.prod(1 + weights) - 1 - weights.sum())


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_the_kernel_has_neither_constant_nor_linear_terms_and_variance_1(weights):
    found = InteractionKernel.of(weights).gram(SIGNS)
    assert found == pytest.approx(kernel(weights), abs=1e-12)
    assert np.diag(found).mean() == pytest.approx(1)
    assert found.sum(axis=0) == pytest.approx(np.zeros(len(ROWS)), abs=1e-9)
    assert SIGNS.T @ found == pytest.approx(np.zeros((P, len(ROWS))), abs=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_integrals_are_sums_over_all_rows(weights):
    target, interactions, matrix = Coefficients.of(laws()), InteractionKernel.of(weights), least_squares()
    with_rows = interactions.cross_covariance(SIGNS, target)
    assert with_rows == pytest.approx((matrix @ kernel(weights)).T, abs=1e-7)
    assert interactions.coefficient_covariance(target) == pytest.approx(matrix @ kernel(weights) @ matrix.T, abs=1e-7)


def test_many_coordinates_do_not_overflow():
    interactions = InteractionKernel.of(np.full(1500, 1 - 1e-9))
    signs = np.sign(np.random.default_rng(0).standard_normal((4, 1500)))
    assert interactions.gram(signs) == pytest.approx(np.eye(4), abs=1e-3)
    target = Coefficients.of(Laws.one(4, np.full(1500, 0.5)))
    assert np.isfinite(interactions.cross_covariance(signs, target)).all()
    assert np.isfinite(interactions.coefficient_covariance(target)).all()


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_integrals_of_coefficients_that_have_shares_of_their_own_are_sums_as_well(weights):
    mixture, interactions = Mixture(SHARES, laws().rates), InteractionKernel.of(weights)
    target, matrix = Coefficients.of_mixture(mixture), mixture.pulls(ROWS).T
    with_rows = interactions.cross_covariance(SIGNS, target)
    assert with_rows == pytest.approx((matrix @ kernel(weights)).T, abs=1e-7)
    wanted = matrix @ kernel(weights) @ matrix.T
    assert interactions.coefficient_covariance(target) == pytest.approx(wanted, abs=1e-7)
    assert interactions.coefficient_variances(target) == pytest.approx(np.diag(wanted), abs=1e-7)


def test_the_mixture_of_laws_has_their_coefficients():
    found = laws().mixture().pulls(ROWS).T
    assert found == pytest.approx(least_squares())


def test_several_ways_are_solved_together_as_each_is_alone():
    interactions, pulls = InteractionKernel.of(WEIGHTS["many interact"]), np.random.default_rng(0).standard_normal(32)
    rates = laws().rates
    mixtures = [Mixture(SHARES, rates), Mixture(SHARES[::-1], rates[::-1] / 2)]
    alone = [pulls @ interactions.cross_covariance(SIGNS, Coefficients.of_mixture(one)) for one in mixtures]
    assert interactions.weighted_cross_covariance(SIGNS, Coefficients.of_each(mixtures), pulls) == pytest.approx(
        np.stack(alone)
    )
    assert np.abs(alone[0] - alone[1]).max() > 0.1
