"""Tests of `mase.designs.masking`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.designs.masking import Hadamard, Independent
from mase.designs.placement import subsets
from mase.errors import OptionError
from mase.methods import METHODS
from mase.testing import FunctionProbe, smooth


def drawn(n, p, seed=0):
    design = Hadamard()
    return design.draw(np.random.default_rng(seed), n, design.distribution(np.ones(p)))


@pytest.mark.parametrize(("p", "order"), [(1, 2), (3, 4), (4, 8), (60, 64), (64, 128), (127, 128)])
def test_columns_of_a_block_are_balanced_and_orthogonal(p, order):
    z = drawn(order, p).deviations
    assert (z.sum(axis=0) == 0).all()
    assert z.T @ z == pytest.approx(order / 4 * np.eye(p), abs=1e-12)


def test_the_second_block_is_the_mirror_image_of_the_first():
    rows = drawn(4 * 16, 9).coordinates
    assert (rows[16:32] == 1 - rows[:16]).all()
    assert (rows[48:] == 1 - rows[32:48]).all()
    assert not (np.sort(rows[:16], axis=0)[:, None] == rows[32:48]).all()


def test_fewer_rows_are_the_first_of_more():
    assert (drawn(20, 30).coordinates == drawn(64, 30).coordinates[:20]).all()


def test_single_rows_are_fair_coins():
    first = np.array([drawn(1, 6, seed).coordinates[0] for seed in range(2000)])
    assert np.cov(first.T) == pytest.approx(np.eye(6) / 4, abs=0.03)


def test_pairs_cancel_in_a_block_and_its_mirror_image():
    """A linear model with every pair of words is exact from 2 x 16 rows, but not from as many of several blocks."""
    rng = np.random.default_rng(1)
    gamma, pairs = rng.standard_normal(12), np.triu(rng.standard_normal((12, 12)), 1)
    probe = FunctionProbe(lambda c: c @ gamma + ((c - 0.5) @ pairs * (c - 0.5)).sum(axis=1), 12)
    options = {"design": "hadamard", "estimator": "least-squares"}
    assert run(probe, "mase-cite", n_samples=32, **options).estimate.gamma == pytest.approx(gamma, abs=1e-6)
    assert np.abs(run(probe, "mase-cite", n_samples=24, **options).estimate.gamma - gamma).max() > 0.1


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
