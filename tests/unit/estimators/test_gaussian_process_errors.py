"""Tests of `mase.estimators.gaussian_process`: its steps in slow lines, and its errors on functions of a known law."""

from dataclasses import replace

import numpy as np
import pytest

from mase.estimators.empirical_bayes import correlations
from mase.estimators.gaussian_process import GaussianProcess
from mase.regression.anova import InteractionKernel
from mase.regression.covariance import Covariance
from mase.regression.distinct_rows import DistinctRows
from mase.regression.factored import Prior
from mase.regression.laws import Laws
from mase.regression.posterior import Posterior
from mase.regression.problem import Problem

DOF, REACHES = 4.0, (0.5, 1.0, 2.0, 4.0, 8.0, np.inf)


def of_coins(z, y):
    """Return the problem of rows of fair coins `(n, p)` with responses `(n,)`."""
    n, half = len(z), np.full(z.shape[1], 0.5)
    return Problem(z, y, np.ones(n), None, True, Covariance(half), laws=Laws.one(n, half))


def different_coins(rng, n, p):
    """Return at most n different rows of fair coins, minus 1/2."""
    return np.unique(rng.integers(0, 2, (n, p)), axis=0) - 0.5


def from_the_prior(seed, n, p):
    """Return a problem whose function is drawn from the prior of the estimator, and its coefficients `(p,)`."""
    rng = np.random.default_rng(seed)
    z, scales = different_coins(rng, n, p), 1 / rng.gamma(DOF / 2, 2 / DOF, p)
    gamma = np.sqrt(3 * scales / scales.sum()) * rng.standard_normal(p)
    kernel = InteractionKernel.of(np.minimum(2 * scales / scales.sum(), 0.999)).gram(2 * z)
    root = np.linalg.cholesky(kernel + 1e-10 * np.eye(len(z)))
    return of_coins(z, z @ gamma + 0.5 * root @ rng.standard_normal(len(z))), gamma


def of_weak_words(seed, n, p):
    """Return a problem in which the strong words do not interact, but others do, and its coefficients `(p,)`."""
    rng = np.random.default_rng(seed)
    z, gamma = different_coins(rng, n, p), np.zeros(p)
    gamma[:3] = 2 * rng.standard_normal(3)
    pairs = [3 + rng.choice(p - 3, 2, replace=False) for _ in range(12)]
    return of_coins(z, z @ gamma + sum(1.2 * z[:, i] * z[:, j] * rng.standard_normal() for i, j in pairs)), gamma


def with_noise(seed):
    """Return a problem whose rows were asked twice, and answered differently."""
    rows, _ = from_the_prior(seed, 40, 8)
    noise = 0.5 * np.random.default_rng(seed).standard_normal(2 * rows.n)
    return of_coins(np.tile(rows.z, (2, 1)), np.tile(rows.y, 2) + noise)


def step(prior, rows, found):
    """Return the prior after the step of EM for Student's t distribution: E(gamma^2) counts as one of dof + 1."""
    scales = (DOF + (found.mean**2 + found.variances) / found.prior * prior.scales) / (DOF + 1)
    return prior.updated(scales / np.prod(scales) ** (1 / len(scales)), rows, found.rest)


@pytest.mark.parametrize("problem", [from_the_prior(0, 60, 12)[0], from_the_prior(3, 25, 12)[0], with_noise(1)])
def test_few_rows_in_slow_lines(problem):
    rows = DistinctRows.of(problem, problem.laws)
    priors = [Prior.of(factor, rows) for factor in correlations(problem.p)]
    prior = max(priors, key=lambda one: Posterior.of(rows, one, (2.0,)).factors[0].evidence(rows.total))
    for _ in range(8 * rows.noisy):
        prior = prior.updated(prior.scales, rows, Posterior.of(rows, prior, (2.0,)).rest)
    found = alike = Posterior.of(rows, prior, REACHES)
    for _ in range(8):
        prior = step(prior, rows, found)
        found = Posterior.of(rows, prior, alike.reaches[:1])
    found = Posterior.of(rows, prior, REACHES)
    equal = Posterior.of(rows, replace(prior, scales=np.ones(problem.p)), REACHES)
    estimate = GaussianProcess(DOF).fit(problem)
    assert estimate.gamma == pytest.approx(found.mean, abs=1e-9)
    assert estimate.covariance == pytest.approx((found.covariance + equal.covariance) / 2, abs=1e-9)
    assert estimate.dof == pytest.approx(found.used)


def test_a_rough_estimate_is_one_step_from_equal_scales():
    problem, _ = from_the_prior(1, 100, 12)
    rows = DistinctRows.of(problem, problem.laws)
    prior = Prior.of(np.ones(12), rows)
    found = Posterior.of(rows, step(prior, rows, Posterior.of(rows, prior, (2.0,))), (2.0,))
    rough = GaussianProcess(DOF).rough(problem)
    assert rough.gamma == pytest.approx(found.mean, abs=1e-9)
    assert rough.variances == pytest.approx(found.variances, abs=1e-9)


@pytest.mark.parametrize(("n", "p"), [(60, 12), (300, 12)])
def test_scores_and_errors_have_the_unit_of_the_answers(n, p):
    problem, _ = from_the_prior(2, n, p)
    one, other = (GaussianProcess().fit(replace(problem, y=y)) for y in (problem.y, 7 - 1e3 * problem.y))
    assert other.gamma == pytest.approx(-1e3 * one.gamma, rel=1e-5, abs=1e-3)
    assert np.sqrt(other.variances) == pytest.approx(1e3 * np.sqrt(one.variances), rel=1e-4)
    assert other.changes == pytest.approx(-1e3 * one.changes, rel=1e-5, abs=1e-3)


def test_neither_the_order_of_few_rows_nor_what_is_1_matters():
    problem, _ = from_the_prior(4, 100, 12)
    order = np.random.default_rng(0).permutation(problem.n)
    one, other = (GaussianProcess().fit(each) for each in (problem, of_coins(-problem.z[order], problem.y[order])))
    assert other.gamma == pytest.approx(-one.gamma, abs=1e-9)
    assert other.covariance == pytest.approx(one.covariance, abs=1e-9)
    assert other.changes == pytest.approx(-one.changes[order], abs=1e-9)


@pytest.mark.parametrize(("n", "p", "low"), [(48, 30, 0.7), (100, 20, 0.7), (300, 12, 0.4)])
def test_errors_are_as_large_as_stated_for_functions_from_the_prior(n, p, low):
    """For few rows a little larger, as scales are estimated; for many a little smaller, as the jackknife is wide."""
    ratios = []
    for seed in range(20):
        problem, gamma = from_the_prior(seed, n, p)
        found = GaussianProcess(DOF).fit(problem)
        ratios.append((found.gamma - gamma) ** 2 / found.variances)
    assert low < np.mean(ratios) < 1.5


@pytest.mark.parametrize("n", [300, 1_000])
def test_errors_are_as_large_as_stated_where_weak_words_interact(n):
    """Which the prior does not expect: of many rows its own errors are several times too large."""
    ratios = []
    for seed in range(8):
        problem, gamma = of_weak_words(seed, n, 16)
        found = GaussianProcess().fit(problem)
        ratios.append((found.gamma - gamma) ** 2 / found.variances)
    assert 0.3 < np.mean(ratios) < 1.3


def following(gamma):
    """Return laws in which the last two words are kept by how far the first word is ahead of the second one."""
    rates = np.full(gamma.shape, 0.5)
    rates[:, -2:] = np.clip(0.5 + (gamma[:, :1] - gamma[:, 1:2]) / 2, 0.01, 0.99)
    return [Laws.one(1, one).mixture() for one in rates]


def of_a_pair(seed, n, p):
    """Return a problem in which the last two words need each other, and all words have interactions."""
    z = different_coins(np.random.default_rng(seed), n, p)
    hash_like = np.sin(50 * z @ np.arange(1, p + 1) ** 1.5)
    return of_coins(z, z[:, 0] + z[:, 1] + 1.5 * z[:, -1] * z[:, -2] + hash_like / 2)


def followed(problem):
    """Return the estimate under laws that follow from scores, and that under the laws that follow from these scores."""
    found = GaussianProcess().fit(replace(problem, aim=following))
    laws = following(found.gamma[None])
    return found, GaussianProcess().fit(replace(problem, aim=lambda gamma: laws * len(gamma)))


@pytest.mark.parametrize("seed", range(4))
def test_opposite_errors_of_scores_cancel_in_the_laws_that_follow_from_them(seed):
    found, known = followed(of_a_pair(seed, 60, 10))
    assert found.gamma == pytest.approx(known.gamma, abs=0.01)
    assert (known.variances[:2] > 0.05**2).all()


def test_laws_are_known_better_from_two_blocks_of_rows_than_from_one():
    added = [
        found.variances - known.variances for found, known in (followed(of_a_pair(0, n, 14)) for n in (1500, 2300))
    ]
    assert (added[1][-2:] > 0).all()
    assert (added[1][-2:] < 0.8 * added[0][-2:]).all()
