"""Tests of `mase.regression.posterior`: the same with dense matrices."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.special import expit, logsumexp, softmax

from mase.regression.anova import Coefficients, InteractionKernel
from mase.regression.covariance import Covariance
from mase.regression.distinct_rows import DistinctRows, numbered
from mase.regression.factored import Prior
from mase.regression.influence import Influence, checked
from mase.regression.laws import Laws, Mixture
from mase.regression.posterior import Posterior
from mase.regression.problem import Problem

P, N = 5, 30
ODDS = np.concatenate([np.arange(-4.0, 8.0, 1.0), np.arange(8.0, 27.0, 3.0)])
FACTOR = np.linalg.cholesky(0.5 * np.eye(P) + 0.5)
SCALES = np.array([0.5, 1.0, 2.0, 1.0, 1.5])


def asked(noise=0.0, seed=0):
    """Return a problem of rows of two laws, some of them asked more than once."""
    rng, law = np.random.default_rng(seed), np.repeat([0, 1], N // 2)
    rates = np.array([[0.5] * P, [0.2, 0.8, 0.4, 0.6, 0.9]])
    z = (rng.random((N, P)) < rates[law]) - 0.5
    y = np.tanh(z @ np.arange(1.0, P + 1)) + z[:, 0] * z[:, 1] + noise * rng.standard_normal(N)
    laws = Laws(np.equal.outer([0, 1], law).astype(float), rates)
    return Problem(z, y, np.ones(N), None, True, Covariance(np.full(P, 0.5)), laws=laws)


def distinct(noise=0.0, seed=0):
    """Return the different rows of this problem."""
    problem = asked(noise, seed)
    rows = DistinctRows.of(problem, problem.laws)
    assert 15 < len(rows.y) < N
    return rows


def test_answers_to_one_row_are_averaged_and_their_variance_is_that_of_noise():
    problem = asked(0.3)
    rows = DistinctRows.of(problem, problem.laws)
    different = np.unique(problem.z, axis=0)
    answers = [problem.y[(problem.z == row).all(axis=1)] for row in different]
    means = np.array([each.mean() for each in answers])
    assert (rows.signs / 2).tolist() == different.tolist()
    assert rows.counts.tolist() == [len(each) for each in answers]
    assert rows.y == pytest.approx(means - means.mean())
    squares = sum(np.sum((each - each.mean()) ** 2) for each in answers)
    assert rows.within == pytest.approx(squares / sum(len(each) - 1 for each in answers))


def dense(rows, prior, reach, linear):
    """Return the covariance of the responses, of coefficients with them, and of coefficients, `(u, u)` to `(p, p)`."""
    interactions, rest = InteractionKernel.of(prior.weights(reach)), expit(-np.log(linear / (1 - linear)))
    root = np.diag(prior.root) if prior.root.ndim == 1 else prior.root
    halves, own = rows.signs / 2 @ root, root @ root.T
    kernel = linear * halves @ halves.T + rest * rows.kernel(interactions, prior.noise)
    crossed = linear * rows.signs / 2 @ own + rest * interactions.cross_covariance(rows.signs, rows.target)
    return kernel, crossed, linear * own + rest * interactions.coefficient_covariance(rows.target)


@pytest.mark.parametrize(
    ("factor", "noise"),
    [
        (FACTOR, 0.0),
        (FACTOR, 0.5),
        (np.array([1.0, 2.0, 1.0, 0.5, 1.0]), 0.0),
        (np.diag([1.0, 1.0, 1.0, 1.0, 1e-5]), 0.0),
        (np.diag([1.0, 1.0, 1.0, 1.0, 0.0]), 0.0),
    ],
    ids=["exact", "noisy", "diagonal", "one is nearly known", "one is known"],
)
def test_it_is_the_posterior_with_an_unknown_constant_averaged_over_the_linear_share(factor, noise):
    rows = distinct()
    prior, contrasts = Prior(factor, SCALES, noise), null_space(np.ones((1, len(rows.y))))
    y, joint, means, covariances, free = contrasts.T @ rows.y, [], [], [], len(rows.y) - 1
    for odds, width in zip(ODDS, np.gradient(ODDS), strict=True):
        kernel, crossed, own = dense(rows, prior, 2.0, expit(odds))
        inside, crossed = contrasts.T @ kernel @ contrasts, contrasts.T @ crossed
        squares = y @ np.linalg.solve(inside, y)
        likelihood = -(free * np.log(squares) + np.linalg.slogdet(inside)[1]) / 2
        joint.append(likelihood + np.log(expit(odds) * expit(-odds) * width))
        means.append(crossed.T @ np.linalg.solve(inside, y))
        left = own - crossed.T @ np.linalg.solve(inside, crossed)
        covariances.append(squares / (free - 2) * left)
    found, shares = Posterior.of(rows, prior, (2.0,)), softmax(joint)
    assert found.mean == pytest.approx(shares @ means, abs=1e-8)
    apart = (means - shares @ means) * np.sqrt(shares)[:, None]
    expected = np.einsum("s,spq->pq", shares, covariances) + apart.T @ apart
    assert found.covariance == pytest.approx(expected, abs=1e-8)
    assert Posterior.of(rows, prior, (2.0,), whole=False).variances == pytest.approx(np.diag(expected), abs=1e-8)
    assert found.share == pytest.approx(expit(ODDS[np.argmax(joint)]))


def test_the_evidence_compares_priors_and_reaches_by_the_probability_of_the_responses():
    rows, found, expected = distinct(), [], []
    contrasts = null_space(np.ones((1, len(rows.y))))
    y, free = contrasts.T @ rows.y, len(rows.y) - 1
    for factor, noise, reach in product((FACTOR, np.ones(P)), (0.0, 0.5), (0.5, 2.0, np.inf)):
        prior, joint = Prior(factor, SCALES, noise), []
        for odds, width in zip(ODDS, np.gradient(ODDS), strict=True):
            inside = contrasts.T @ dense(rows, prior, reach, expit(odds))[0] @ contrasts
            likelihood = -(free * np.log(y @ np.linalg.solve(inside, y)) + np.linalg.slogdet(inside)[1]) / 2
            joint.append(likelihood + np.log(expit(odds) * expit(-odds) * width))
        expected.append(logsumexp(joint))
        found.append(Posterior.of(rows, prior, (reach,)).factors[0].evidence(rows.total))
    assert np.ptp(expected) > 5
    assert np.array(found) - found[0] == pytest.approx(np.array(expected) - expected[0], abs=1e-6)


@pytest.mark.parametrize("reaches", [(2.0, 8.0), (8.0, 2.0)])
def test_reaches_are_averaged_by_their_probability(reaches):
    rows, prior = distinct(), Prior(FACTOR, SCALES, 0.0)
    parts = [Posterior.of(rows, prior, (reach,)) for reach in reaches]
    both = Posterior.of(rows, prior, reaches)
    shares = softmax([part.factors[0].evidence(rows.total) for part in parts])
    assert shares.min() > 0.1
    means = np.array([part.mean for part in parts])
    apart = (means - shares @ means) * np.sqrt(shares)[:, None]
    assert np.abs(apart.T @ apart).max() > 1e-6
    within = np.einsum("s,spq->pq", shares, [part.covariance for part in parts])
    assert both.mean == pytest.approx(shares @ means)
    assert both.covariance == pytest.approx(within + apart.T @ apart, abs=1e-12)
    for name in ("prior", "used", "rest"):
        values = [getattr(part, name) for part in parts]
        assert np.ptp(values, axis=0).max() > 1e-3
        assert getattr(both, name) == pytest.approx(shares @ values)
    assert both.reaches == (reaches if shares[0] > 0.5 else reaches[::-1])


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_changes_are_those_of_a_posterior_without_the_row_and_all_equal_to_it(noise):
    rows = distinct(noise)
    prior = Prior(FACTOR, SCALES, noise)
    found = Posterior.of(rows, prior, (2.0,))

    def mean(kept):
        kernel, crossed, _ = dense(rows, prior, 2.0, found.share)
        ones = np.ones(kept.sum())
        solved = np.linalg.solve(kernel[np.ix_(kept, kept)], np.column_stack([rows.y[kept], ones]))
        return crossed[kept].T @ (solved[:, 0] - solved[:, 1] * (ones @ solved[:, 0]) / (ones @ solved[:, 1]))

    every = np.ones(len(rows.y), dtype=bool)
    by_row = np.array([mean(every) - mean(np.arange(len(every)) != left_out) for left_out in range(len(every))])
    assert np.abs(by_row).max() > 0.05
    changed, _ = Influence.of(rows, found).changes(rows.target)
    assert changed == pytest.approx(by_row, abs=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_expected_squares_of_changes_are_the_mean_of_those_of_draws_from_the_prior(noise):
    """Changes are linear in the responses: their mean squares are the sum over those to the columns of a root."""
    rows, prior = distinct(noise), Prior(FACTOR, SCALES, noise)
    found = Posterior.of(rows, prior, (2.0,))
    kernel, _, _ = dense(rows, prior, 2.0, found.share)
    draws = np.linalg.cholesky(3 * kernel).T
    influences = (Influence.of(replace(rows, y=draw - draw.mean()), found) for draw in draws)
    changed, expected = zip(*(influence.changes(rows.target) for influence in influences), strict=True)
    assert sum(expected) == pytest.approx(np.square(changed).sum(axis=0), rel=1e-6)


def test_a_covariance_is_rescaled_by_what_rows_change_over_what_is_to_be_expected():
    rng = np.random.default_rng(0)
    changed, root, times = rng.standard_normal((8, 3)), rng.standard_normal((3, 3)), np.array([1.0, 2.0, 0.5])
    covariance, expected = root @ root.T, np.square(changed).mean(axis=0) * np.ones((8, 3))
    found = checked(covariance, times * changed, expected, np.arange(8))  # of all subsets of three words
    assert found == pytest.approx(np.outer(times, times) * covariance)
    assert checked(covariance, 0 * changed, 0 * expected, np.arange(8)) == pytest.approx(covariance)


@pytest.mark.parametrize(("g", "size"), [(4, 10), (40, 1)])
def test_the_jackknife_of_a_mean_is_the_variance_of_the_mean_of_its_clusters(g, size):
    """What clusters of rows change counts half where few subsets were asked, and less where most were."""
    y = np.random.default_rng(0).standard_normal((g, size))
    changed, clusters = (y - y.mean()).ravel() / y.size, np.repeat(np.arange(g), size)
    exact = y.mean(axis=1).var(ddof=1) / g
    for p in (6, 30):
        columns, asked = np.repeat(changed[:, None], p, axis=1), y.size / 2**p
        found = checked(np.zeros((p, p)), columns, columns**2, clusters)
        assert found == pytest.approx(np.full((p, p), (1 - asked) * exact / 2))
        whole = checked(np.eye(p), columns, columns**2, clusters) - found
        assert whole == pytest.approx((1 + asked) / 2 * np.eye(p))


def test_the_mean_under_other_laws_is_that_of_a_posterior_for_them():
    """With one reach, and the share that is linear as good as known."""
    rows, rng = distinct(), np.random.default_rng(5)
    signs = np.sign(rng.standard_normal((300, P)))
    y = signs @ np.arange(1.0, P + 1) + 4 * signs[:, 0] * signs[:, 1]
    covariance = Covariance(np.full(P, 0.5))
    laws = Laws.one(300, np.full(P, 0.5))
    rows = DistinctRows.of(Problem(signs / 2, y, np.ones(300), None, True, covariance, laws=laws), laws)
    prior = Prior(FACTOR, SCALES, 0.0)
    found = Posterior.of(rows, prior, (2.0,))
    shares = np.array([np.linspace(0.1, 0.9, P), np.linspace(0.9, 0.1, P)])
    mixtures = [Mixture(shares, rng.uniform(0.1, 0.9, (2, P))), Mixture(shares, np.full((2, P), 0.5))]
    other = replace(rows, target=Coefficients.of_mixture(mixtures[0]))
    wanted, influence = Posterior.of(other, prior, (2.0,)).mean, Influence.of(rows, found)
    assert np.abs(wanted - found.mean).max() > 1
    means = influence.means(Coefficients.of_each(mixtures))
    assert means == pytest.approx(np.stack([wanted, found.mean]), abs=0.01)


def test_a_step_takes_noise_from_rows_with_different_answers_only():
    same, apart = distinct(), distinct(0.3)
    assert (same.noisy, apart.noisy) == (False, True)
    prior = Prior.of(FACTOR, apart)
    assert prior.noise == pytest.approx(apart.within / apart.variance)
    assert prior.updated(SCALES, apart, 0.5).noise == pytest.approx(apart.within / 0.5)
    assert Prior.of(FACTOR, same).updated(SCALES, same, 0.5).noise == 0
    assert replace(prior, scales=SCALES).root @ replace(prior, scales=SCALES).root.T == pytest.approx(
        4 / SCALES.sum() * np.sqrt(np.outer(SCALES, SCALES)) * (0.5 * np.eye(P) + 0.5)
    )


@pytest.mark.parametrize("p", [1, 5, 8, 9, 40])
def test_different_rows_are_sorted_and_numbered(p):
    rng = np.random.default_rng(p)
    z = (rng.random((30, p)) < 0.5) - 0.3
    z[20:] = z[rng.permutation(20)[:10]]
    rows, *expected = np.unique(z, axis=0, return_index=True, return_inverse=True, return_counts=True)
    found = numbered(z)
    assert z[found[0]].tolist() == rows.tolist()
    for one, other in zip(found, expected, strict=True):
        assert one.tolist() == other.ravel().tolist()
