"""Tests of `mase.designs.shapley`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.testing import smooth


@pytest.mark.parametrize("n_samples", [80, 82])
def test_kernel_shap_of_hardly_more_coalitions_than_words_is_no_noise(n_samples):
    """A square system would be solved to the digit, and say nothing: ridge regression answers, and says so."""
    full = run(smooth(40), "kernel-shap", n_samples=4000).estimate.gamma
    for seed in range(5):
        found = run(smooth(40), "kernel-shap", seed=seed, n_samples=n_samples)
        assert np.linalg.norm(found.estimate.gamma - full) < np.linalg.norm(full)
        assert "fallback" in {note.code for note in found.notes}
        assert np.sqrt(np.diag(found.estimate.covariance)).max() > 0.05 * np.abs(full).max()
