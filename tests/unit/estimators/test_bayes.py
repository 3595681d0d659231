"""Tests of `mase.estimators.bayes`."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import null_space
from scipy.special import expit, softmax

from mase.errors import OptionError
from mase.estimators.bayes import EmpiricalBayes, correlations
from mase.estimators.linear import LeastSquares, Ridge
from mase.solve.distributions import Components, covariance
from mase.solve.problem import Problem


def problem(z, y, weights=None):
    weights = np.ones(len(z)) if weights is None else weights
    return Problem(z, y, weights, None, True, covariance(0.5, np.ones(z.shape[1])))


def coins(n, p, rng):
    return rng.integers(0, 2, size=(n, p)) - 0.5


def posterior(z, y, factor):
    """Return what is known of the coefficients of rows `(n, p)` without a constant, under the prior covariance LL'.

    It is the mean, the covariance, the prior covariance, the matrix that takes responses to fitted ones, and the
    logarithm of the probability of the responses: by dense matrices, over a grid of the share that is linear.
    """
    odds = np.concatenate([np.arange(-4.0, 6.0, 0.5), np.arange(6.0, 26.0, 2.0)])
    n, own, parts, joint = len(z), factor @ factor.T, [], []
    for one, width in zip(odds, np.gradient(odds), strict=True):
        prior = np.exp(one) * n / np.sum((z @ factor) ** 2) * own  # relative to the noise
        kernel = np.eye(n) + z @ prior @ z.T
        squares = y @ np.linalg.solve(kernel, y)
        joint.append(
            -(n * np.log(squares) + np.linalg.slogdet(kernel)[1]) / 2 + np.log(expit(one) * expit(-one) * width)
        )
        taken = prior @ z.T @ np.linalg.inv(kernel)
        noise = squares / (n - 2)
        parts.append((taken @ y, noise * (prior - taken @ z @ prior), noise * prior, z @ taken))
    shares = softmax(joint)
    mean, within, prior, hat = (np.tensordot(shares, np.array(part), 1) for part in zip(*parts, strict=True))
    apart = (np.array([part[0] for part in parts]) - mean) * np.sqrt(shares)[:, None]
    return mean, within + apart.T @ apart, prior, hat, np.logaddexp.reduce(joint)


@pytest.mark.parametrize(("n", "p"), [(40, 12), (20, 30), (10, 30)])
@pytest.mark.parametrize("kind", ["plain", "weighted", "two components"])
def test_it_is_its_formulas_with_dense_matrices(n, p, kind):
    """Constants are taken out by contrasts, and the scales of Student's t distribution follow from steps of EM."""
    rng, dof = np.random.default_rng(n), 4.0
    rows = problem(coins(n, p, rng), rng.standard_normal(n), rng.uniform(0.5, 2, n) if kind == "weighted" else None)
    component = np.arange(n) % 2 if kind == "two components" else np.zeros(n, dtype=int)
    shares = np.equal.outer(np.unique(component), component).astype(float)
    rows = replace(
        rows,
        y=rows.y + rows.z[:, 2:5].sum(axis=1) + 3 * component,
        components=Components(shares, np.full((len(shares), p), 0.5)),
    )
    root = np.sqrt(rows.weights)
    contrasts = null_space(shares * root).T
    z, y = contrasts @ (root[:, None] * rows.z), contrasts @ (root * rows.y)
    factors = [factor if factor.ndim == 2 else np.diag(factor) for factor in correlations(p)]
    factor = max(factors, key=lambda one: posterior(z, y, one)[-1])
    alike, scales = posterior(z, y, factor), np.ones(p)
    found = alike
    for _ in range(8):
        mean, spread, prior = found[:3]
        scales = (dof + (mean**2 + np.diag(spread)) / np.diag(prior) * scales) / (dof + 1)
        scales /= np.prod(scales) ** (1 / p)
        found = posterior(z, y, np.sqrt(scales)[:, None] * factor)
    estimate = EmpiricalBayes(dof).fit(rows)
    wider = (stats.t.ppf(0.975, len(z)) / stats.norm.ppf(0.975)) ** 2
    assert estimate.gamma == pytest.approx(found[0], abs=1e-7)
    assert estimate.covariance == pytest.approx(wider * (alike[1] + found[1]) / 2, abs=1e-7)
    assert estimate.dof == pytest.approx(np.trace(found[3]))
    assert estimate.leverages == pytest.approx(np.diag(contrasts.T @ found[3] @ contrasts), abs=1e-7)


@pytest.mark.parametrize(("n", "p"), [(64, 20), (32, 60), (96, 40)])
def test_intervals_cover(n, p):
    """Of all coefficients together, with noise: with more rows than coefficients, and with fewer."""
    covered = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        z, gamma = coins(n, p, rng), rng.standard_t(4, p)
        noise = 0.3 * np.linalg.norm(gamma) * rng.standard_normal(n)  # a quarter of the variance
        found = EmpiricalBayes().fit(problem(z, z @ gamma + noise))
        covered.append(np.abs(found.gamma - gamma) < 1.96 * np.sqrt(found.variances))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)


def test_a_few_strong_words_are_found_with_fewer_rows_than_words():
    """Where a penalty that treats all alike spreads their effect over the others."""
    better, alike = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        z, gamma = coins(48, 80, rng), np.zeros(80)
        gamma[rng.permutation(80)[:4]] = 3.0
        rows = problem(z, z @ gamma + 0.5 * rng.standard_normal(48))
        better.append(np.linalg.norm(EmpiricalBayes().fit(rows).gamma - gamma))
        alike.append(np.linalg.norm(Ridge().fit(rows).gamma - gamma))
    assert np.mean(better) < 0.7 * np.mean(alike)


def test_words_of_a_phrase_help_each_other():
    rng = np.random.default_rng(0)
    z, gamma = coins(40, 80, rng), np.zeros(80)
    gamma[30:40] = 1.0
    y, order = z @ gamma + 0.5 * rng.standard_normal(40), rng.permutation(80)
    in_order = EmpiricalBayes().fit(problem(z, y)).gamma
    shuffled = EmpiricalBayes().fit(problem(z[:, order], y)).gamma
    assert np.linalg.norm(in_order - gamma) < 0.8 * np.linalg.norm(shuffled - gamma[order])


def test_it_converges_to_least_squares():
    rng = np.random.default_rng(2)
    gamma = rng.standard_normal(8)
    for n, bound in ((200, 0.1), (20_000, 0.001)):
        z = coins(n, 8, rng)
        rows = problem(z, z @ gamma + rng.standard_normal(n))
        one, other = EmpiricalBayes().fit(rows), LeastSquares().fit(rows)
        assert one.gamma == pytest.approx(other.gamma, abs=bound)
    assert np.sqrt(one.variances) == pytest.approx(np.sqrt(other.variances), rel=0.03)


def test_a_weight_counts_as_often_as_the_row():
    rng = np.random.default_rng(3)
    z, y = coins(200, 5, rng), rng.standard_normal(200)
    weights = rng.integers(1, 3, 200)
    twice = EmpiricalBayes().fit(problem(np.repeat(z, weights, axis=0), np.repeat(y, weights)))
    assert EmpiricalBayes().fit(problem(z, y, weights.astype(float))).gamma == pytest.approx(twice.gamma, abs=0.03)


def test_it_copes_with_what_the_rows_do_not_tell():
    rng = np.random.default_rng(4)
    z = coins(30, 12, rng)
    z[:, 3] = z[:, 7]  # the rows cannot tell these two apart
    z[:, 5] = 0.5  # never masked
    found = EmpiricalBayes(dof=1e6).fit(problem(z, 2 * z[:, 3] + 0.1 * rng.standard_normal(30)))
    assert found.gamma[[3, 7]].sum() == pytest.approx(2, abs=0.2)
    assert abs(found.gamma[5]) < 1e-9 < found.variances[5]
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12
    same = EmpiricalBayes().fit(problem(z, np.full(30, 0.5)))
    assert not same.gamma.any()
    assert not same.variances.any()
    two = EmpiricalBayes().fit(problem(z[:2], np.array([1.0, 2.0])))
    assert np.isfinite(two.covariance).all()


@pytest.mark.parametrize("dof", [0, -1.0, np.inf, np.nan])
def test_other_degrees_of_freedom_are_refused(dof):
    with pytest.raises(OptionError, match="dof"):
        EmpiricalBayes(dof=dof)


def test_coordinates_that_never_vary_change_no_other():
    """With two of them there are so many coordinates that the rows are solved by way of their products."""
    rng = np.random.default_rng(4)
    z, gamma = coins(40, 79, rng), rng.standard_normal(79)
    z[7] = z[3]
    y = z @ gamma + rng.standard_normal(40)
    equal_scales = EmpiricalBayes(dof=1e12)
    alone = equal_scales.fit(problem(z, y))
    beside = equal_scales.fit(problem(np.pad(z, ((0, 0), (0, 2))), y))
    assert beside.gamma[:79] == pytest.approx(alone.gamma, abs=1e-9)
    assert beside.variances[:79] == pytest.approx(alone.variances, rel=1e-9)
