"""Tests of `mase.estimators.kernel_ridge`."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import null_space
from tests.regressions import run

from mase.designs.adaptive import CloseUp, Focused
from mase.designs.masking import Hadamard
from mase.designs.placement import subsets
from mase.errors import OptionError
from mase.estimators.bayes import EmpiricalBayes
from mase.estimators.kernel_ridge import KernelRidge
from mase.estimators.kernel_ridge import _Fit as Fit
from mase.estimators.kernel_ridge import _Rows as KernelRows
from mase.estimators.kernel_ridge import _Settings as Settings
from mase.estimators.linear import LeastSquares
from mase.solve.distributions import Components, Covariance
from mase.solve.problem import Problem
from mase.testing import FunctionProbe, linear

P = 8


def smooth(seed, noise=0.0, p=P):
    """Return a function of rows `(n, p)`: strong units alone, in pairs, and saturating."""
    rng = np.random.default_rng(seed)
    gamma = rng.standard_t(3, p)
    pairs = np.triu(rng.standard_normal((p, p)) * np.outer(np.abs(gamma), np.abs(gamma)), 1)

    def function(kept):
        linear = kept @ gamma + 0.3 * np.einsum("np,pq,nq->n", kept, pairs, kept)
        return 3 * np.tanh(linear / 3) + noise * rng.standard_normal(len(kept))

    return function


def problem(design, n, seed, function):
    """Return the problem of n rows in the rounds of a design, which focuses on the coefficients of all subsets."""
    rng, distribution = np.random.default_rng(seed), design.distribution(np.ones(P))
    if design.rounds == 1:
        sample = design.draw(rng, n, distribution)
    else:
        first = round(design.shares[0] * n)
        sample = design.draw(rng, first, distribution)
        sample = sample.joined(design.draw(rng, n - first, distribution, np.arange(float(P))))
    return sample.problem(function(sample.coordinates), None)


def coins(function, n, p, seed=0):
    """Return the problem of n rows of fair coins."""
    kept, covariance = np.random.default_rng(seed).integers(0, 2, (n, p)), Covariance(np.full(p, 0.5))
    return Problem(
        kept - 0.5, function(kept), np.ones(n), None, True, covariance, components=Components.one(n, np.full(p, 0.5))
    )


def long_run(components, function):
    """Return the least squares `(p,)` on all subsets, weighted by their probabilities under the components."""
    rows, shares = subsets(P), components.shares.mean(axis=1)
    weights = sum(
        share * np.where(rows == 1, rates, 1 - rates).prod(axis=1)
        for share, rates in zip(shares, components.rates, strict=True)
    )
    design = np.sqrt(weights)[:, None] * np.column_stack([np.ones(len(rows)), rows])
    return np.linalg.lstsq(design, np.sqrt(weights) * function(rows))[0][1:]


def in_dense_matrices(rows, target, settings):
    """Return scores `(p,)`, posterior and prior variances, and what each row changes `(n, p)`, from all subsets.

    Kriging with an unknown constant, by plain inverses; a score is what `target` `(2^p, p)` makes of all responses.
    """
    signs, every = 2 * (rows.z > 0) - 1.0, 2 * subsets(rows.p) - 1

    def kernel(one, other):
        agreement = (one * settings.weights) @ other.T
        same = (one[:, None] == other).all(axis=2)
        return settings.linear * agreement + (1 - settings.linear) * np.exp(2 * (agreement - 1)) + settings.own * same

    def solved(signs, y):
        inverse, ones = np.linalg.inv(kernel(signs, signs)), np.ones(len(y))
        projected = inverse - np.outer(inverse @ ones, inverse @ ones) / (ones @ inverse @ ones)
        across = kernel(signs, every) @ target
        variance = y @ projected @ y / (len(y) - 1)
        left = variance * np.diag(target.T @ kernel(every, every) @ target - across.T @ projected @ across)
        return y @ projected @ across, left, variance * np.diag(target.T @ kernel(every, every) @ target)

    scores, left, prior = solved(signs, rows.y)
    without = [solved(np.delete(signs, row, axis=0), np.delete(rows.y, row))[0] for row in range(rows.n)]
    return scores, left, prior, scores - without


@pytest.mark.parametrize("rates", [0.5, 0.7])
def test_it_is_its_formulas_with_dense_matrices(monkeypatch, rates):
    """The closed forms over mask rates, the whitened algebra, the posterior and leave-one-out."""
    function, kept = smooth(3, p=6), np.unique(np.random.default_rng(0).integers(0, 2, (40, 6)), axis=0)
    components = Components.one(len(kept), np.full(6, rates))
    rows = Problem(
        kept - 0.5, function(kept), np.ones(len(kept)), None, True, Covariance(np.full(6, 0.5)), components=components
    )
    settings = []
    tuned = KernelRidge._tuned
    monkeypatch.setattr(KernelRidge, "_tuned", lambda *args: settings.append(tuned(*args)) or settings[0])
    found = KernelRidge().fit(rows)
    scores, left, prior, changes = in_dense_matrices(rows, components.mixture().row_weights(subsets(6)), settings[0])
    assert found.gamma == pytest.approx(scores, rel=1e-4, abs=1e-4)
    assert found.changes == pytest.approx(changes, rel=1e-3, abs=1e-4)
    unasked = 1 - len(kept) / 64
    jackknife = unasked * (changes**2).sum(axis=0)
    assert found.bias == pytest.approx(2.5 * left / prior * np.abs(scores), rel=0.02)
    assert found.variances == pytest.approx((1 - unasked / 2) * left + jackknife / 2, rel=0.02)


def test_the_settings_are_chosen_by_the_likelihood_of_contrasts():
    """The evidence of two settings differs as the normal log likelihood of the responses does, but for a constant."""
    rows = coins(smooth(0, p=6), 30, 6)
    different, (kept, first) = KernelRows.of(rows), np.unique(rows.z, axis=0, return_index=True)
    contrasts, found = null_space(np.ones((1, len(kept)))).T, []
    for share, own in ((0.3, 0.1), (0.97, 1.0)):
        settings = Settings(np.arange(1, 7) / 21, share, own, 0.0)
        agreement = 4 * (kept * settings.weights) @ kept.T
        kernel = share * agreement + (1 - share) * np.exp(2 * (agreement - 1)) + own * np.eye(len(kept))
        normal = stats.multivariate_normal(cov=contrasts @ kernel @ contrasts.T)
        y = contrasts @ rows.y[first]
        variance = y @ np.linalg.solve(normal.cov, y) / len(y)
        scaled = stats.multivariate_normal(cov=variance * normal.cov).logpdf(y)
        found.append((scaled, Fit.of(different, settings).evidence))
    (one, ours), (other, theirs) = found
    assert ours - theirs == pytest.approx(one - other, abs=1e-3)


@pytest.mark.parametrize(("design", "n"), [(Hadamard(), 32), (CloseUp(), 64)])
def test_intervals_cover_what_all_rows_give_and_errors_are_smaller_than_with_noise(design, n):
    covered, errors, of_noise = [], [], []
    for seed in range(40):
        function = smooth(seed)
        rows = problem(design, n, seed, function)
        truth = long_run(rows.components, function)
        found = KernelRidge().fit(rows)
        covered.append(np.abs(found.gamma - truth) < 1.96 * np.sqrt(found.variances))
        errors.append(np.linalg.norm(found.gamma - truth))
        of_noise.append(np.linalg.norm(EmpiricalBayes().fit(rows).gamma - truth))
    assert 0.92 < np.mean(covered) < 0.995
    assert np.median(errors) < 0.9 * np.median(of_noise)


def test_all_rows_leave_nothing_open():
    function, rows = smooth(1), subsets(P)
    components = Components.one(len(rows), np.full(P, 0.7))
    covariance = Hadamard().distribution(np.ones(P)).covariance
    every = Problem(rows - 0.5, function(rows), np.ones(len(rows)), None, True, covariance, components=components)
    found = KernelRidge().fit(every)
    assert found.gamma == pytest.approx(long_run(components, function), abs=1e-3)
    assert np.sqrt(found.variances).max() < 0.01


def test_rows_that_are_asked_twice_tell_nothing_new_unless_answers_differ():
    function = smooth(2)
    once = problem(Hadamard(), 32, 0, function)
    both = replace(once, z=np.tile(once.z, (2, 1)), y=np.tile(once.y, 2), weights=np.ones(64))
    both = replace(both, components=Components.one(64, np.full(P, 0.5)))
    one, two = KernelRidge().fit(once), KernelRidge().fit(both)
    assert two.gamma == pytest.approx(one.gamma, abs=1e-6)
    assert two.variances == pytest.approx(one.variances, rel=1e-4)
    noise = np.random.default_rng(3).standard_normal(64)
    assert (KernelRidge().fit(replace(both, y=both.y + noise)).variances > 2 * one.variances).all()


def test_a_linear_model_is_found():
    rows = problem(Hadamard(), 32, 0, lambda kept: kept @ np.arange(1.0, P + 1) - 7)
    found = KernelRidge().fit(rows)
    assert found.gamma == pytest.approx(np.arange(1.0, P + 1), rel=0.002)
    assert found.dof == pytest.approx(P, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_errors_of_a_linear_model_are_small_and_cover(seed):
    gamma = np.random.default_rng(seed).standard_t(3, 30)
    found = run(linear(gamma), "mase", seed, n_samples=400).estimate
    assert (np.abs(found.gamma - gamma) <= 1.96 * np.sqrt(found.variances)).all()
    assert np.sqrt(found.variances).max() < 0.01 * np.abs(gamma).max()


@pytest.mark.parametrize("p", [3, 10])
def test_no_variance_is_negative_by_rounding(p):
    design = Hadamard()
    sample = design.draw(np.random.default_rng(0), 60, design.distribution(np.ones(p)))
    found = KernelRidge().fit(sample.problem(1e6 * sample.coordinates[:, 0], None))
    assert (found.variances >= 0).all()
    assert found.gamma == pytest.approx(1e6 * np.eye(p)[0], abs=5)


def test_more_words_than_rows_and_constant_responses():
    rng, distribution = np.random.default_rng(0), Hadamard().distribution(np.ones(60))
    sample = Hadamard().draw(rng, 32, distribution)
    found = KernelRidge().fit(sample.problem(sample.coordinates[:, :3].sum(axis=1), None))
    assert set(np.argsort(-found.gamma)[:3]) == {0, 1, 2}
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12
    same = KernelRidge().fit(sample.problem(np.full(32, 2.0), None))
    assert not same.gamma.any()
    assert not same.variances.any()


def test_without_laws_what_is_not_linear_is_noise():
    rows = replace(problem(Hadamard(), 32, 0, smooth(0)), components=None)
    assert KernelRidge().fit(rows).gamma.tolist() == EmpiricalBayes().fit(rows).gamma.tolist()


@pytest.mark.parametrize("dof", [0, -1.0])
def test_other_degrees_of_freedom_are_refused(dof):
    with pytest.raises(OptionError, match="dof"):
        KernelRidge(dof=dof)


def test_many_rows_are_covered_and_more_rows_err_less(monkeypatch):
    """Of 300 rows 160 choose the settings, and 2,200 rows are two blocks."""
    monkeypatch.setattr("mase.estimators.kernel_ridge._BLOCK", 2_000)
    covered, errors, stated, moved, rows, function = [], [], [], [], subsets(16), smooth(0, p=16)
    truth = (2 * rows - 1).T @ function(rows) / 2**15
    for n in (300, 1_000, 2_200):
        found = KernelRidge().fit(coins(function, n, 16))
        covered.append(np.abs(found.gamma - truth) < 1.96 * np.sqrt(found.variances))
        errors.append(np.sum((found.gamma - truth) ** 2))
        stated.append(found.variances.sum())
        moved.append(np.abs(found.changes).mean())
        assert stated[-1] < 6 * errors[-1]  # the jackknife is wide for a function as smooth as this one
    assert np.mean(covered) > 0.9
    assert errors[2] < 0.8 * errors[1] < 0.4 * errors[0]
    assert 0.25 < stated[2] / stated[1] < 0.8
    assert 0.25 < moved[2] / moved[1] < 0.7


def test_rough_estimates_are_close():
    for seed in range(5):
        rows = coins(smooth(seed, p=20), 100, 20)
        found, rough = KernelRidge().fit(rows), KernelRidge().rough(rows)
        assert np.linalg.norm(rough.gamma - found.gamma) < 0.25 * np.linalg.norm(found.gamma)
        assert 0.5 < np.sqrt(rough.variances.sum() / found.variances.sum()) < 2


def test_errors_on_the_rows_of_rounds_are_smaller_than_those_of_least_squares():
    squares = np.zeros(2)
    for seed in range(8):
        function = smooth(seed)
        rows = replace(problem(Focused(), 80, seed, function), target_mixture=None)
        truth = long_run(rows.components, function)
        for index, estimator in enumerate((KernelRidge(), LeastSquares())):
            squares[index] += np.sum((estimator.fit(rows).gamma - truth) ** 2)
    assert squares[0] < 0.3 * squares[1]


@pytest.mark.slow
def test_scores_stand_for_the_laws_that_they_aim_at():
    """Whichever rows were drawn: here half of them are of fair coins."""
    covered, errors, of_rows = [], [], []
    for seed in range(12):
        probe = FunctionProbe(smooth(seed, p=10), 10)
        exact = run(probe, "mase", n_samples=1024).estimate.gamma
        found = run(probe, "mase", n_samples=300, design="focused(rounds=2)", seed=seed)
        covered.append(np.abs(found.estimate.gamma - exact) < 1.96 * np.sqrt(found.estimate.variances))
        errors.append(np.linalg.norm(found.estimate.gamma - exact))
        own = KernelRidge().fit(replace(found.problem, target_mixture=None)).gamma
        of_rows.append(np.linalg.norm(own - exact))
    assert np.mean(covered) > 0.93
    assert np.median(errors) < 0.5 * np.median(of_rows)


def test_an_uncertain_ranking_widens_errors():
    """Scores that change with the components vary by them, those of a linear function do not.

    Which of two equal words leads decides how often others are kept, and with it what two that need each other add.
    """

    def target_mixture(gamma):
        rates = np.full(gamma.shape, 0.5)
        rates[:, 2:4] = np.where(gamma[:, :1] > gamma[:, 1:2], 0.8, 0.2)
        return [Components.one(1, one).mixture() for one in rates]

    for pair in (1.0, 0.0):

        def response(kept, pair=pair):
            return kept[:, 0] + kept[:, 1] + pair * kept[:, 2] * kept[:, 3]

        rows = problem(Focused(rounds=1), 60, 0, response)
        found = KernelRidge().fit(replace(rows, target_mixture=target_mixture))
        fair = Components.one(1, np.full(P, 0.5)).mixture()
        known = KernelRidge().fit(replace(rows, target_mixture=lambda gamma, fair=fair: [fair] * len(gamma)))
        added = np.sqrt(np.maximum(found.variances - known.variances, 0))
        assert (added[2:4] >= 0.25 * pair).all()
        assert np.delete(added, [2, 3]).max() < 0.1


def test_words_that_need_each_other_score_the_same_with_every_seed():
    """Several components follow from their own scores: of two such words, whichever leads stays ahead."""

    def function(kept):
        return 2.0 * kept[:, 1] * kept[:, 3] + 0.1 * kept[:, 5]

    exact = run(FunctionProbe(function, 10), "mase", n_samples=1024).estimate.gamma
    assert exact[1] == pytest.approx(exact[3], abs=1e-9)
    for seed in range(6):
        found = run(FunctionProbe(function, 10), "mase", n_samples=450, seed=seed).estimate
        assert found.gamma == pytest.approx(exact, abs=0.05)


def test_errors_cover_answers_that_differ():
    """Four words: 200 rows are at most 16, and a score has the error of a difference of two means."""
    rng, rows = np.random.default_rng(0), coins(lambda kept: kept @ np.arange(1.0, 5) + kept[:, 0] * kept[:, 1], 200, 4)
    errors = []
    for _ in range(20):
        found = KernelRidge().fit(replace(rows, y=rows.y + 0.3 * rng.standard_normal(200)))
        errors.append(found.gamma - [1.5, 2.5, 3, 4])
        assert np.sqrt(found.variances) == pytest.approx(2 * 0.3 / np.sqrt(200), rel=0.4)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(2 * 0.3 / np.sqrt(200), rel=0.3)


def test_equal_rows_change_the_same():
    rows = coins(smooth(5), 2_400, P)
    found, (_, first, number) = (
        KernelRidge().fit(rows),
        np.unique(rows.z, axis=0, return_index=True, return_inverse=True),
    )
    assert len(first) == 2**P
    assert np.sqrt(found.variances).max() < 0.01
    assert found.changes == pytest.approx(found.changes[first][number.ravel()], abs=1e-12)
    assert KernelRidge().fit(rows.rows(first)).gamma == pytest.approx(found.gamma, abs=1e-3)


def test_one_response_of_many_that_differs(monkeypatch):
    """One of two blocks is constant."""
    monkeypatch.setattr("mase.estimators.kernel_ridge._BLOCK", 500)
    n, differs = 1_000, 17
    rows = replace(coins(len, n, 24), y=1.0 * (np.arange(n) == differs))
    found = KernelRidge().fit(rows)
    assert np.isfinite(found.gamma).all()
    assert (found.variances > 0).all()
    assert np.isfinite(found.changes).all()
    assert found.changes[differs].any()


@pytest.mark.parametrize("seed", range(3))
def test_a_response_that_depends_on_one_word_alone(seed):
    rng, design, one = np.random.default_rng(seed), Focused(), np.eye(37)[5]
    distribution = design.distribution(np.ones(37))
    sample = design.draw(rng, 75, distribution)
    sample = sample.joined(design.draw(rng, 75, distribution, rng.standard_normal(37)))
    found = KernelRidge().fit(sample.problem(3 * sample.coordinates @ one, None))
    assert found.gamma == pytest.approx(3 * one, abs=0.01)
    assert np.sqrt(found.variances).max() < 0.02


def test_many_words_have_variances_alone():
    """More than 2,000: no matrix of all pairs of words. The strong ones are found."""
    rng, p = np.random.default_rng(0), 2_100
    gamma = np.zeros(p)
    gamma[:5] = 10.0
    kept = rng.integers(0, 2, (150, p))
    rows = Problem(
        kept - 0.5,
        kept @ gamma,
        np.ones(150),
        None,
        True,
        Covariance(np.full(p, 0.5)),
        components=Components.one(150, np.full(p, 0.5)),
    )
    for found in (KernelRidge().fit(rows), KernelRidge().rough(rows)):
        assert found.covariance.shape == (p,)
        assert (found.variances > 0).all()
        assert set(np.argsort(-found.gamma)[:5]) == set(range(5))


def test_a_single_word_and_unequal_weights_are_left_to_others():
    one = coins(lambda kept: 2.0 * kept[:, 0], 20, 1)
    assert KernelRidge().fit(one).gamma == pytest.approx([2.0], abs=1e-3)
    rows = coins(smooth(0), 40, P)
    weighted = replace(rows, weights=np.linspace(0.5, 1.5, 40))
    assert KernelRidge().fit(weighted).gamma.tolist() == EmpiricalBayes().fit(weighted).gamma.tolist()
