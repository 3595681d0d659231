"""The theorems behind the default methods: exactness, Theorem 1, limits, and intervals that cover."""

import numpy as np
import pytest
from tests.regressions import run

from mase.designs import DESIGNS
from mase.designs.placement import Gaussian
from mase.solve.distributions import covariance
from mase.testing import linear, quadratic, smooth

P = 20


RNG = np.random.default_rng(11)


GAMMA = RNG.standard_normal(P)


HESSIAN = RNG.standard_normal((P, P))


HESSIAN = HESSIAN + HESSIAN.T


CORRELATED = 0.01 * 0.5 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P)))


GAUSSIAN = [name for name in DESIGNS if name != "path" and isinstance(DESIGNS[name](), Gaussian)]


@pytest.mark.parametrize("design", GAUSSIAN)
@pytest.mark.parametrize("sigma", [0.1, CORRELATED])
@pytest.mark.parametrize("center", [1.0, 0.4])
def test_least_squares_is_exact_on_a_linear_model(design, sigma, center):
    found = run(linear(GAMMA), design=design, estimator="least-squares", sigma=sigma, center=center, n_samples=200)
    assert np.abs(found.estimate.gamma - GAMMA).max() < 1e-6
    assert found.r2 == pytest.approx(1.0)


@pytest.mark.parametrize("design", ["antithetic", "orthogonal"])
def test_mirrored_rows_are_exact_on_a_quadratic_model(design):
    found = run(quadratic(GAMMA, HESSIAN), design=design, sigma=0.5, n_samples=200)
    assert np.abs(found.estimate.gamma - GAMMA).max() < 1e-6
    iid = run(quadratic(GAMMA, HESSIAN), design="iid", sigma=0.5, n_samples=200)
    assert np.abs(iid.estimate.gamma - GAMMA).max() > 1e-2  # the check above is not idle


def test_moment_is_theorem_1_to_the_letter():
    probe, sigma = smooth(P), CORRELATED
    found = run(probe, "mase-paper", sigma=sigma, n_samples=50, seed=5)
    rng = np.random.default_rng(5)
    z = rng.standard_normal((50, P)) @ np.linalg.cholesky(sigma).T
    slow = np.linalg.inv(sigma) @ np.mean(
        [(probe.function(1 + row[None])[0] - probe.function(np.ones((1, P)))[0]) * row for row in z], axis=0
    )
    assert found.estimate.gamma == pytest.approx(slow, rel=1e-9)


@pytest.mark.slow
def test_moment_error_on_a_linear_model_is_sqrt_p_plus_1_over_n():
    n, draws = 400, 300
    errors = [
        np.sum((run(linear(GAMMA), "mase-paper", seed=seed, n_samples=n).estimate.gamma - GAMMA) ** 2)
        for seed in range(draws)
    ]
    relative = np.sqrt(np.mean(errors) / np.sum(GAMMA**2))
    band = 3 * np.std(errors) / np.mean(errors) / np.sqrt(draws) / 2
    assert relative == pytest.approx(np.sqrt((P + 1) / n), rel=band)


def test_moment_subtracts_the_text_itself():
    # Without f(x0) a constant of 1,000 would drown the signal.
    low, high = (run(linear(GAMMA, constant), "mase-paper").estimate.gamma for constant in (0.0, 1000.0))
    assert low == pytest.approx(high, abs=1e-6)


def test_moment_matched_rows_make_theorem_1_equal_least_squares():
    for sigma in (0.3, CORRELATED):
        for n in (P + 1, 100):
            first = run(smooth(P), design="moment-matched", estimator="moment", sigma=sigma, n_samples=n)
            if n > P + 3:
                second = run(smooth(P), design="moment-matched", estimator="least-squares", sigma=sigma, n_samples=n)
                assert np.abs(first.estimate.gamma - second.estimate.gamma).max() < 1e-9
    sample = DESIGNS["moment-matched"]().draw(np.random.default_rng(0), P + 1, _law(CORRELATED))
    assert np.abs(sample.deviations.mean(axis=0)).max() < 1e-12
    assert np.abs(sample.deviations.T @ sample.deviations / (P + 1) - CORRELATED).max() < 1e-12


def _law(sigma):
    from mase.solve.problem import Distribution

    return Distribution(1.0, covariance(sigma, np.ones(P)))


def test_stein_gradients_and_perturbations_agree_within_their_joint_interval():
    for sigma in (0.3, CORRELATED * 9):
        box = run(smooth(P), design="antithetic", sigma=sigma, n_samples=8000)
        white = run(smooth(P), "mase-gradient", sigma=sigma, n_samples=8000, seed=1)
        spread = np.sqrt(np.diag(box.estimate.covariance) + np.diag(white.estimate.covariance))
        assert (np.abs(box.estimate.gamma - white.estimate.gamma) < 4 * spread).all()
        assert spread.max() < 0.05 * np.abs(white.estimate.gamma).max()  # a narrow interval, not an empty promise
        assert white.cost.n_gradients == 8000


def test_small_sigma_tends_to_the_gradient():
    probe = smooth(P)
    gradient = probe.slope(np.ones((1, P)))[0]
    errors = [np.linalg.norm(run(probe, sigma=sigma).estimate.gamma - gradient) for sigma in (0.1, 0.01, 0.001)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_path_completes_the_difference_between_text_and_reference():
    probe = smooth(P)
    found = run(probe, "mase-path", sigma=0.02, n_samples=40_000).estimate
    whole = float(np.diff(probe.function(np.array([[0.0] * P, [1.0] * P])))[0])
    error = np.sqrt(found.covariance.sum())
    assert abs(found.gamma.sum() - whole) < 3 * error < 0.2 * abs(whole)
    local = run(probe, sigma=0.02).estimate
    assert abs(local.gamma.sum() - whole) > 10 * np.sqrt(local.covariance.sum())


def _coverage(truth, seeds, probe, **overrides):
    inside, scale = [], []
    for seed in range(seeds):
        found = run(probe, seed=seed, **overrides)
        error = np.sqrt(np.diag(found.estimate.covariance))
        inside.append(np.abs(found.estimate.gamma - truth) < 1.96 * error)
        scale.append(error)
    assert np.mean(scale) > 0
    return float(np.mean(inside))


@pytest.mark.parametrize("method", ["mase-nlgp", "mase-paper", "mase-path", "mase-gradient"])
@pytest.mark.slow
def test_intervals_cover_the_long_run_value(method):
    probe, options = smooth(12, seed=4), {"n_samples": 300, "sigma": 0.3}
    runs = [
        run(probe, method, seed=10_000 + seed, **(options | {"n_samples": 20_000})).estimate.gamma for seed in range(8)
    ]
    assert 0.93 <= _coverage(np.mean(runs, axis=0), 200, probe, method=method, **options) <= 0.97


@pytest.mark.parametrize("design", ["iid", "antithetic", "orthogonal"])
@pytest.mark.slow
def test_intervals_of_least_squares_cover_under_each_random_design(design):
    probe, options = smooth(12, seed=8), {"n_samples": 300, "sigma": 0.5, "design": design}
    runs = [run(probe, seed=10_000 + seed, **(options | {"n_samples": 20_000})).estimate.gamma for seed in range(8)]
    assert 0.93 <= _coverage(np.mean(runs, axis=0), 200, probe, **options) <= 0.97


@pytest.mark.slow
def test_moment_covariance_is_that_of_a_mean():
    found = [run(smooth(P), "mase-paper", seed=seed, sigma=0.3, n_samples=200).estimate for seed in range(200)]
    actual = np.std([estimate.gamma for estimate in found], axis=0)
    stated = np.sqrt(np.mean([np.diag(estimate.covariance) for estimate in found], axis=0))
    assert np.median(stated / actual) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("n_samples", [20, 40, 60])
def test_intervals_of_ridge_with_too_few_rows_are_wide_enough(n_samples):
    """With fewer pairs than coordinates most of the truth is out of sight; the intervals must not pretend otherwise."""
    inside = []
    for seed in range(60):
        truth = np.random.default_rng(1000 + seed).standard_normal(40)
        found = run(linear(truth), seed=seed, n_samples=n_samples)
        inside.append(np.abs(found.estimate.gamma - truth) < 1.96 * np.sqrt(np.diag(found.estimate.covariance)))
    assert np.mean(inside) > 0.9


@pytest.mark.slow
def test_intervals_of_an_adaptive_design_are_as_wide_as_its_repetitions_differ():
    """Later rows depend on earlier answers; the error bars must still say how much a repetition would differ."""
    found = [run(smooth(12, seed=4), "mase", seed=seed, n_samples=200).estimate for seed in range(50)]
    actual = np.std([estimate.gamma for estimate in found], axis=0)
    stated = np.sqrt(np.mean([np.diag(estimate.covariance) for estimate in found], axis=0))
    assert 0.9 < np.median(stated / actual) < 1.3
