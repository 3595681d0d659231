"""Tests of `mase.designs.focused`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.testing import FunctionProbe, linear


def test_adaptive_rounds_turn_to_the_words_with_high_scores():
    """On a linear model the second round already knows the order: high words are out often, low ones seldom."""
    truth = np.linspace(3, -3, 30)
    found = run(linear(truth), "mase", n_samples=5000)
    assert found.estimate.gamma == pytest.approx(truth, abs=1e-8)
    out = 0.5 - found.problem.z.reshape(5, 1000, 30).mean(axis=1)
    assert out[0] == pytest.approx(0.5, abs=0.06)
    expected = 0.1 + 0.8 / (1 + np.exp((np.arange(30) - 10) / 4))
    for later in out[1:]:
        assert later == pytest.approx(expected, abs=0.06)


def test_redundant_words_show_in_an_adaptive_design_only():
    """Four words that say the same: a model that needs one of them hides all four from a sample of fair coins."""
    probe = FunctionProbe(lambda c: 3 * c[:, :6].max(axis=1) + 0.3 * c[:, 6:8].sum(axis=1), 40)
    blind = run(probe, "mase-mask", n_samples=1000).estimate.gamma
    focused = run(probe, "mase", n_samples=1000).estimate.gamma
    assert blind[:6].max() < 0.15 < blind[6:8].min()
    assert focused[:6].min() > 1.5 * blind[:6].max()
