"""Tests of `mase.regression.diagnostics`."""

from itertools import product

import numpy as np
import pytest
from scipy.special import comb
from tests.regressions import run

from mase.attribution import LISTED
from mase.designs import DESIGNS
from mase.estimators.least_squares import LeastSquares
from mase.measure import measure
from mase.methods import resolve
from mase.regression.covariance import covariance
from mase.regression.diagnostics import adjusted_r2, condition, split_half
from mase.regression.estimate import Estimate
from mase.regression.problem import Distribution, Problem
from mase.testing import FunctionProbe, linear, smooth


def test_noise_among_irrelevant_words_is_not_unstable():
    """Three words of sixty decide, the others do nothing but by chance: their order is noise, and nobody sees it."""

    def function(c):
        return 5 * c[:, 0] + 4 * c[:, 1] - 3 * c[:, 2] + 0.4 * np.sin(50 * c @ np.arange(60) ** 1.5)

    found = measure(
        FunctionProbe(function, 60), resolve("mase-mask", link="logit", n_samples=400), 0, np.random.default_rng(0)
    )
    assert np.argsort(-np.abs(found.estimate.gamma))[:3].tolist() == [0, 1, 2]
    assert found.split_half > 0.9
    assert "unstable" not in {note.code for note in found.notes}


def test_other_words_on_top_with_every_half_is_unstable():
    """Nothing but chance decides which words are listed."""

    def function(c):
        return np.sin(50 * c @ np.arange(60) ** 1.5)

    found = measure(
        FunctionProbe(function, 60), resolve("mase-mask", link="logit", n_samples=400), 0, np.random.default_rng(0)
    )
    assert found.split_half < 0.7
    (note,) = [note for note in found.notes if note.code == "unstable"]
    assert f"{found.split_half:.0%}" in note.message
    assert str(LISTED) in note.message


def noisy(n, p, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, p))
    return Problem(z, z[:, 0] + rng.standard_normal(n), np.ones(n), 0.0, True, covariance(1.0, np.ones(p)))


def agreement(gamma, halves, k):
    """Return split-half in slow lines: of the k strongest, the share by strength that a half has among its k, too."""
    strength = np.abs(gamma)
    first = sorted(range(len(gamma)), key=lambda i: -strength[i])[:k]
    shares = []
    for half in np.abs(halves):
        among = sorted(range(len(gamma)), key=lambda i, half=half: -half[i])[:k]
        shares.append(sum(strength[i] for i in first if i in among) / sum(strength[i] for i in first))
    return np.mean(shares)


@pytest.mark.parametrize(("p", "k"), [(40, 8), (17, 8), (16, 8), (9, 4), (3, 1)])
def test_split_half_is_the_agreement_of_even_and_odd_rows_about_the_strongest(p, k):
    problem = noisy(2 * p + 30, p)
    whole, *halves = (
        LeastSquares().fit(rows).gamma for rows in (problem, *(problem.rows(slice(i, None, 2)) for i in (0, 1)))
    )
    assert split_half(problem, LeastSquares(), whole) == pytest.approx(agreement(whole, halves, k))
    if p == 40:
        assert 0.2 < agreement(whole, halves, k) < 1


def test_split_half_counts_ties_in_and_what_a_half_never_found_out():
    """Of six equal scores any four are the strongest. A half that finds two words alone misses the others."""

    class Fixed:
        def __init__(self, *halves):
            self.halves = list(halves)

        def fit(self, problem):
            return Estimate(np.array(self.halves.pop(0)), np.eye(8), 8.0)

    equal = np.array([1.0, 1, 1, 1, 1, 1, 0, 0])
    jitter = 1e-13 * np.arange(8.0)
    assert split_half(noisy(200, 8), Fixed(equal + jitter, equal - jitter), equal) == pytest.approx(1)
    two = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
    assert split_half(noisy(200, 8), Fixed(two, equal), equal) == pytest.approx(0.75)
    assert split_half(noisy(200, 8), Fixed(), np.zeros(8)) is None


def test_split_half_needs_two_sound_halves():
    assert split_half(noisy(20, 8), LeastSquares(), np.ones(8)) is None
    assert split_half(noisy(200, 2), LeastSquares(), np.ones(2)) is None


@pytest.mark.parametrize("design", ["iid", "antithetic", "orthogonal", "sobol"])
@pytest.mark.parametrize("n", [160, 200, 1000])
def test_r2_does_not_grow_with_useless_coordinates(design, n):
    """One of 60 coordinates matters and half of the variance is noise: R2 is 1/2 whatever the number of rows."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sample = DESIGNS[design]().draw(rng, n, Distribution(1.0, covariance(1.0, np.ones(60))))
        y = sample.deviations[:, 0] + rng.standard_normal(n)
        found.append(adjusted_r2(sample, y, LeastSquares().fit(sample.problem(y, 0.0))))
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(("design", "constant"), [("iid", 1), ("antithetic", 0)])
def test_r2_of_least_squares_is_the_adjusted_one_of_textbooks(design, constant):
    """Mean squares by their degrees of freedom; mirrored rows have half sums, too, which nothing explains."""
    rng = np.random.default_rng(1)
    sample = DESIGNS[design]().draw(np.random.default_rng(0), 40, Distribution(1.0, covariance(1.0, np.ones(5))))
    y = sample.deviations @ np.arange(5.0) + rng.standard_normal(40)
    problem = sample.problem(y, 0.0)
    estimate, n = LeastSquares().fit(problem), problem.n
    errors = problem.y - problem.z @ estimate.gamma
    total = np.sum((problem.y - constant * problem.y.mean()) ** 2) / (n - constant)
    left = np.sum((errors - constant * errors.mean()) ** 2) / (n - constant - 5)
    even = ((y[0::2] + y[1::2]) / 2).var(ddof=1) if sample.paired else 0.0
    assert adjusted_r2(sample, y, estimate) == pytest.approx(1 - (left + even) / (total + even))


@pytest.mark.parametrize(("p", "n"), [(20, 1000), (200, 1000), (300, 600)])
def test_r2_of_the_moment_is_that_of_rows_left_out(p, n):
    """It is not fitted to the answers: deducting p would tell of a linear model that it is none."""
    told, fresh = [], []
    for seed in range(20):
        gamma = np.random.default_rng(2000 + seed).standard_normal(p)
        found = measure(linear(gamma), resolve("mase-paper", link="logit", n_samples=n), 0, np.random.default_rng(seed))
        z = 0.1 * np.random.default_rng(1000 + seed).standard_normal((2000, p))
        told.append(found.r2)
        fresh.append(1 - (z @ (gamma - found.estimate.gamma)).var() / (z @ gamma).var())
    assert np.mean(told) == pytest.approx(np.mean(fresh), abs=0.02)


def test_r2_of_averaged_gradients_takes_nothing_off():
    probe, told, fresh = smooth(60), [], []
    for seed in range(20):
        method = resolve("mase-gradient", link="logit", n_samples=64, sigma=0.5)
        found = measure(probe, method, 0, np.random.default_rng(seed))
        c = 1 + 0.5 * np.random.default_rng(1000 + seed).standard_normal((2000, 60))
        y = probe.function(c)
        told.append(found.r2)
        fresh.append(1 - (y - (c - 1) @ found.estimate.gamma).var() / y.var())
    assert np.mean(told) == pytest.approx(np.mean(fresh), abs=0.03)


def test_r2_of_all_coalitions_is_the_share_of_their_variance():
    p, probe = 4, smooth(4)
    found = measure(probe, resolve("kernel-shap", link="logit"), 0, np.random.default_rng(0))
    rows = np.array([row for row in product([0.0, 1.0], repeat=p) if 0 < sum(row) < p])
    sizes = rows.sum(axis=1).astype(int)
    weights = (p - 1) / (comb(p, sizes) * sizes * (p - sizes))
    y = probe.function(rows)

    def spread(values):
        return np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)

    assert found.r2 == pytest.approx(1 - spread(y - rows @ found.estimate.gamma) / spread(y))


def test_r2_is_unknown_with_too_few_rows_and_without_variation():
    sample = DESIGNS["antithetic"]().draw(
        np.random.default_rng(0), 100, Distribution(1.0, covariance(1.0, np.ones(60)))
    )
    fitted = Estimate(np.zeros(60), np.eye(60), 60.0)
    assert adjusted_r2(sample, np.random.default_rng(1).standard_normal(100), fitted) is None
    none = Estimate(np.zeros(60), np.eye(60), 0.0)
    assert adjusted_r2(sample, np.ones(100), none) is None
    assert (
        adjusted_r2(sample, 1 + 1e-15 * np.random.default_rng(1).standard_normal(100), none) is None
    )  # rounding alone


def codes(probe, method, n_samples=200):
    found = measure(probe, resolve(method, link="logit", n_samples=n_samples), 0, np.random.default_rng(0))
    return {note.code for note in found.notes}


def test_constant_is_said_of_what_is_constant_alone():
    assert codes(FunctionProbe(lambda c: 0.0 * c[:, 0], 30), "mase") == {"constant"}
    assert codes(linear(np.array([0.5])), "occlusion") == set()  # one word: one row, another answer than the text's
    assert codes(FunctionProbe(lambda c: 0.0 * c[:, 0], 30), "partition-shap") == {"constant"}
    assert codes(linear(np.array([0.5, -1.0])), "partition-shap") == set()


def test_a_model_that_every_perturbation_breaks_is_told_from_a_constant_one():
    """Only the text itself is of the class: masking half of the words tells none apart, masking one at a time does."""
    brittle = FunctionProbe(lambda c: (c.min(axis=1) == 1).astype(float), 40)
    found = measure(brittle, resolve("mase-mask", link="logit"), 0, np.random.default_rng(0))
    (note,) = found.notes
    assert note.code == "constant"
    assert "differs from that of the text" in note.message
    assert codes(brittle, "occlusion") == set()


def test_mirrored_rows_count_once():
    """200 rows in mirrored pairs are 100 independent ones: few for 60 words, as 100 single rows are."""
    assert "few-samples" in codes(linear(np.ones(60)), "mase-mask", 200)
    assert "few-samples" not in codes(linear(np.ones(60)), "mase-mask", 300)
    assert "few-samples" not in codes(linear(np.ones(60)), "mase", 200)


def test_answers_that_differ_by_rounding_are_constant():
    noise = FunctionProbe(lambda c: 1 + 2e-16 * np.round(c.sum(axis=1)), 30)
    assert "constant" in codes(noise, "mase")


@pytest.mark.parametrize("function", [lambda c: 0.7 + 0 * c[:, 0], lambda c: 1 + 2e-16 * np.round(c.sum(axis=1))])
@pytest.mark.parametrize("method", ["mase", "mase-paper", "mase-mask", "lime", "lime-paper", "kernel-shap"])
def test_scores_of_a_constant_model_are_exactly_zero(function, method):
    """Least squares would leave rounding, which a display shades as it shades the scores of any other model."""
    found = measure(
        FunctionProbe(function, 30), resolve(method, link="logit", n_samples=100), 0, np.random.default_rng(0)
    )
    assert not found.estimate.gamma.any()
    assert not found.estimate.variances.any()
    assert found.split_half is None
    assert "constant" in {note.code for note in found.notes}


def test_a_fit_with_as_many_coefficients_as_rows_has_no_r2():
    """It fits any responses, so its R2 of 1 would say nothing about the model."""
    probe = FunctionProbe(lambda c: np.prod(0.5 + c * np.arange(1, 6), axis=1), 5)
    assert measure(probe, resolve("occlusion", link="logit"), 0, np.random.default_rng(0)).r2 is None
    assert measure(probe, resolve("mase-mask", link="logit"), 0, np.random.default_rng(0)).r2 < 1


def test_split_half_ranks_scores_and_not_rounding():
    probe = linear(np.array([0.7, 0.0, 0.0, 0.0, 0.0]))
    found = measure(probe, resolve("mase-nlgp", link="logit", n_samples=100), 0, np.random.default_rng(0))
    assert found.split_half == pytest.approx(1)
    assert not found.notes


def test_r2_of_exact_poor_and_unknown_fits():
    exact = measure(
        linear(np.arange(1.0, 6)), resolve("mase-nlgp", link="logit", n_samples=100), 0, np.random.default_rng(0)
    )
    assert exact.r2 == pytest.approx(1)
    curved = measure(
        smooth(5), resolve("mase-nlgp", link="logit", n_samples=100, sigma=3.0), 0, np.random.default_rng(0)
    )
    assert curved.r2 < 0.9
    few = measure(
        linear(np.arange(1.0, 6)), resolve("mase-paper", link="logit", n_samples=5), 0, np.random.default_rng(0)
    )
    assert few.r2 is None


@pytest.mark.parametrize(("method", "options", "named"), [
    ("mase-mask", {"estimator": "penalised-lasso(alpha=0.3)"}, "an alpha below 0.3"),
    ("lime-paper", {"estimator": "lasso(share=0.1)"}, "a share above 0.1"),
    ("lime-paper", {"estimator": "lasso(radius=1)"}, "a radius above 1"),
])  # fmt: skip
@pytest.mark.parametrize("p", [1, 4, 20])
def test_what_a_penalty_takes_is_not_said_to_be_interactions_or_sampling_error_alone(method, options, named, p):
    """The response is linear, so with a weaker penalty the scores would explain all of it."""
    found = run(linear(np.full(p, 0.6 if "alpha" in named else 5.0)), method, **options)
    (note,) = [one for one in found.notes if one.code == "poor-fit"]
    assert named in note.message
    assert ("interactions" in note.message) == (p > 1)
    assert ("n_samples" in note.message) == (p == 20)


def test_condition_is_one_for_a_perfect_design_and_none_for_a_flat_one():
    from mase.designs.moment_matched import MomentMatched

    sigma = 0.04 * 0.8 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    distribution = Distribution(1.0, covariance(sigma, np.ones(6)))
    sample = MomentMatched().draw(np.random.default_rng(0), 50, distribution)
    assert condition(sample.problem(np.zeros(50), 0.0)) == pytest.approx(1)
    assert condition(noisy(4, 8)) is None


@pytest.mark.parametrize(("p", "n", "estimator", "expected"), [
    (30, 40, "empirical-bayes", False), (30, 20, "empirical-bayes", True), (30, 40, "least-squares", True),
])  # fmt: skip
def test_few_rows_are_told_where_no_prior_makes_up_for_them(p, n, estimator, expected):
    found = run(smooth(p, seed=3), "mase-mask", estimator=estimator, n_samples=n)
    assert ("few-samples" in {note.code for note in found.notes}) is expected
