"""Tests of `mase.designs.coalitions`."""

from itertools import permutations
from math import comb

import numpy as np
import pytest
from tests.regressions import run

from mase.designs.coalitions import Leverage, Shapley
from mase.designs.placement import subsets
from mase.estimators.linear import Constrained
from mase.methods import resolve
from mase.testing import FunctionProbe, smooth


def drawn(p, n, seed=0):
    return Leverage().draw(np.random.default_rng(seed), n, Leverage().distribution(np.ones(p)))


def test_a_row_counts_by_its_leverage():
    """The leverage scores of the constrained regression are 1 / C(p, k), so each size has a sum of 1."""
    p, rows = 7, subsets(7)[1:-1]
    sizes = rows.sum(axis=1)
    kernel = np.array([1 / (comb(p, int(k)) * k * (p - k)) for k in sizes])
    a = np.sqrt(kernel)[:, None] * (rows - sizes[:, None] / p)
    leverage = np.einsum("np,pq,nq->n", a, np.linalg.pinv(a.T @ a), a)
    assert leverage == pytest.approx([1 / comb(p, int(k)) for k in sizes])


@pytest.mark.parametrize(("p", "n"), [(11, 102), (12, 402)])
def test_rows_are_distinct_and_as_many_of_each_size(p, n):
    sample = drawn(p, n)
    kept = sample.coordinates[2:]
    assert len(sample.coordinates) == n
    assert len(np.unique(kept, axis=0)) == len(kept)
    assert np.array_equal(kept[::2], 1 - kept[1::2])
    counts = np.bincount(kept.sum(axis=1).astype(int), minlength=p)[1:]
    every = np.array([comb(p, k) for k in range(1, p)])
    level = max(counts[counts < every])  # the number of rows of each size that is not complete
    assert np.abs(counts - np.minimum(every, level)).max() <= 2


@pytest.mark.parametrize(("p", "n"), [(6, 24), (9, 60)])
def test_weighted_rows_stand_for_all_coalitions(p, n):
    exact = Shapley().exhaustive(Shapley().distribution(np.ones(p)))
    f = smooth(p).function
    total = exact.weights[2:] @ f(exact.coordinates[2:])
    sums = []
    for seed in range(400):
        sample = drawn(p, n, seed)
        sums.append(sample.weights[2:] @ f(sample.coordinates[2:]))
    assert abs(np.mean(sums) - total) < 4 * np.std(sums) / np.sqrt(len(sums))


def test_scores_solve_the_constrained_regression_of_the_rows():
    probe = smooth(10)
    sample = drawn(10, 120, seed=0)
    found = run(probe, "leverage-shap", n_samples=120, seed=0).estimate.gamma
    rows, weights = sample.coordinates[2:], sample.weights[2:]
    total = float(np.diff(probe.function(np.array([[0.0] * 10, [1.0] * 10])))[0])
    y = probe.function(rows) - probe.function(np.zeros((1, 10)))
    equations = np.block([[2 * rows.T * weights @ rows, np.ones((10, 1))], [np.ones((1, 10)), np.zeros((1, 1))]])
    expected = np.linalg.solve(equations, np.concatenate([2 * rows.T * weights @ y, [total]]))[:10]
    assert found == pytest.approx(expected, abs=1e-9)


def test_all_coalitions_give_the_shapley_values():
    p, probe = 5, smooth(5)
    shapley = np.zeros(p)
    for order in permutations(range(p)):
        rows = np.zeros((p + 1, p))
        for place, word in enumerate(order):
            rows[place + 1 :, word] = 1
        shapley[list(order)] += np.diff(probe.function(rows)) / 120
    assert run(probe, "leverage-shap", n_samples=32).estimate.gamma == pytest.approx(shapley, abs=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 300])
def test_few_and_many_words(p):
    found = run(smooth(p), "leverage-shap", n_samples=700)
    ends = smooth(p).function(np.array([[0.0] * p, [1.0] * p]))
    assert found.estimate.gamma.sum() == pytest.approx(ends[1] - ends[0], abs=1e-9)


@pytest.mark.parametrize("n_samples", [80, 82])
def test_kernel_shap_of_hardly_more_coalitions_than_words_is_no_noise(n_samples):
    """A square system would be solved to the digit, and say nothing: ridge regression answers, and says so."""
    full = run(smooth(40), "kernel-shap", n_samples=4000).estimate.gamma
    for seed in range(5):
        found = run(smooth(40), "kernel-shap", seed=seed, n_samples=n_samples)
        assert np.linalg.norm(found.estimate.gamma - full) < np.linalg.norm(full)
        assert "fallback" in {note.code for note in found.notes}
        assert np.sqrt(np.diag(found.estimate.covariance)).max() > 0.05 * np.abs(full).max()


@pytest.mark.parametrize("method", ["kernel-shap", "leverage-shap"])
def test_pairs_as_regressors_change_no_score(method):
    """kADD-SHAP and Faith-SHAP of order 2 rank words as Kernel SHAP does, as each coalition has its complement.

    Here is the regression of kADD-SHAP (Pelegrina et al., 2211.02166): a coalition is signs s, a word has the regressor
    s_i / 2, a pair s_i s_j / 4 - 1/12, and the coefficients of words are the Shapley values of the fitted function.
    """
    function, design = smooth(12, seed=3).function, resolve(method).strategy.design
    sample = design.draw(np.random.default_rng(0), 300, design.distribution(np.ones(12)))
    signs, weights = 2 * sample.coordinates - 1, sample.weights.copy()
    weights[[0, 1]] = 1e7  # the text and the reference
    pairs = np.array([signs[:, i] * signs[:, j] / 4 - 1 / 12 for i in range(12) for j in range(i)]).T
    regressors = np.column_stack([signs / 2, np.ones(300), pairs])
    root = np.sqrt(weights)
    with_pairs = np.linalg.lstsq(root[:, None] * regressors, root * function(sample.coordinates))[0]
    scores = Constrained().fit(sample.problem(function(sample.coordinates), None)).gamma
    assert with_pairs[:12] == pytest.approx(scores, abs=1e-4)
    assert np.abs(with_pairs[13:]).max() > 0.01


@pytest.mark.parametrize("method", ["kernel-shap", "leverage-shap"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.slow
def test_errors_are_as_large_as_scores_differ_between_seeds(method, noise):
    """All coalitions of one and two words are in every draw, so only the others may differ."""
    runs = []
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def answer(c, rng=rng):
            words = 3.0 * (c[:, :4].max(axis=1) + c[:, 4:7].min(axis=1)) + c[:, 7]
            return words + noise * rng.standard_normal(len(c))

        runs.append(run(FunctionProbe(answer, 12), method, seed=seed, n_samples=1000).estimate)
    spread = np.var([one.gamma for one in runs], axis=0, ddof=1).mean()
    assert 0.6 < np.mean([one.variances for one in runs]) / spread < 3
