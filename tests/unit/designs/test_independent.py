"""Tests of `mase.designs.independent`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.designs.independent import Independent
from mase.designs.placement import subsets
from mase.errors import OptionError
from mase.methods import METHODS
from mase.testing import smooth


def test_the_rows_of_glime_have_the_kernel_of_lime_as_their_probability():
    design = METHODS["glime"].strategy.design
    sample = design.exhaustive(design.distribution(np.ones(6)))
    kernel = np.exp(-(1 - sample.coordinates).sum(axis=1))  # exp(-(masked words) / sigma^2), sigma = 1
    assert sample.weights / sample.weights.sum() == pytest.approx(kernel / kernel.sum(), rel=1e-9)
    drawn = design.draw(np.random.default_rng(0), 20_000, design.distribution(np.ones(6)))
    numbers = (drawn.coordinates @ 2 ** np.arange(6)).astype(int)
    shares = np.bincount(numbers, minlength=64) / 20_000
    assert np.array_equal(sample.coordinates, subsets(6))
    assert np.abs(shares - kernel / kernel.sum()).max() < 4.5 * np.sqrt(0.25 / 20_000)


@pytest.mark.parametrize("method", ["glime", "context-cite"])
def test_scores_approach_those_of_all_rows(method):
    probe = smooth(12)
    exact = run(probe, method, n_samples=2**12)
    errors = [np.linalg.norm(run(probe, method, n_samples=n).estimate.gamma - exact.estimate.gamma) for n in (60, 3000)]
    assert exact.exact
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("p_keep", [0, 1, -0.5, np.nan])
def test_what_a_probability_cannot_be(p_keep):
    with pytest.raises(OptionError, match="p_keep is"):
        Independent(p_keep)


def test_coordinates_have_the_deviation_of_their_coin():
    assert Independent(0.8).distribution(np.ones(3)).covariance.deviations == pytest.approx([0.4] * 3)
