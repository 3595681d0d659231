"""Tests of `mase.designs.shapley`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.estimators.constrained import Constrained
from mase.methods import resolve
from mase.testing import FunctionProbe, smooth


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
