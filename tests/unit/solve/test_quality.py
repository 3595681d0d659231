"""Tests of `mase.solve.quality`."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import comb
from tests.exact_interactions import banzhaf, shapley
from tests.regressions import run

from mase import Explainer
from mase.attribution import LISTED
from mase.designs import DESIGNS
from mase.designs.adaptive import Focused
from mase.designs.placement import single, subsets
from mase.estimators import ESTIMATORS
from mase.estimators.kernel_ridge import KernelRidge
from mase.estimators.linear import LeastSquares
from mase.methods import resolve
from mase.models import Callable
from mase.pipeline import measure
from mase.solve.distributions import Components, Covariance, covariance
from mase.solve.problem import Distribution, Estimate, Estimator, Problem
from mase.solve.quality import adjusted_r2, condition, held_out_r2, split_half
from mase.solve.strategy import Stopping
from mase.testing import FunctionProbe, linear, smooth


def test_what_changes_between_other_classes_matters():
    """The explained class keeps its probability, but not its margin over another class."""
    model = Callable(lambda texts: [[0.49, 0.01, 0.5] if "dull" in text else [0.25, 0.25, 0.5] for text in texts])
    assert Explainer(model)("dull film").verdict.matters
    other = Callable(lambda texts: [[0.2, 0.3, 0.5] if "dull" in text else [0.6, 0.3, 0.1] for text in texts])
    assert Explainer(other)("dull film", target=1).verdict.matters
    same = Callable(lambda texts: [[0.25 + 1e-5 * ("dull" in text), 0.25, 0.5] for text in texts])
    assert not Explainer(same)("dull film").verdict.matters


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

    class Fixed(Estimator):
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
@pytest.mark.slow
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
@pytest.mark.slow
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
    from mase.designs.gaussian import MomentMatched

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


COINS = Distribution(0.5, Covariance(np.full(6, 0.5)))


def rounds(p, n, seed):
    """Return n rows of two rounds, the second of which masks the last words most."""
    rng, design = np.random.default_rng(seed), Focused()
    distribution = design.distribution(np.ones(p))
    return design.draw(rng, n // 2, distribution).joined(design.draw(rng, n // 2, distribution, np.arange(float(p))))


def told(sample, y, estimator):
    problem = sample.problem(y, None)
    return held_out_r2(sample, y, problem, estimator, estimator.fit(problem))


def coins(n, p=6, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n, p)).astype(float)


def curved(kept, seed=1):
    rng = np.random.default_rng(seed)
    p = kept.shape[1]
    return kept @ rng.standard_normal(p) + np.einsum("np,pq,nq->n", kept, rng.standard_normal((p, p)), kept) / 2


def slow(kept, y, weights, rounds, solve):
    """Fit again without each row and its duplicates, and compare with the variance within rounds."""
    left = total = 0.0
    for row, answer, weight in zip(kept, y, weights, strict=True):
        rest = (kept != row).any(axis=1)
        gamma, constant = solve(kept[rest], y[rest], weights[rest])
        left += weight * (answer - constant - row @ gamma) ** 2
    for number in np.unique(rounds):
        w, v = weights[rounds == number], y[rounds == number]
        total += len(v) / (len(v) - 1) * w @ (v - np.average(v, weights=w)) ** 2
    return 1 - left / total


def least_squares(kept, y, weights):
    root = np.sqrt(weights)
    found = np.linalg.lstsq(root[:, None] * np.column_stack([kept, np.ones(len(kept))]), root * y)[0]
    return found[:-1], found[-1]


def test_it_is_that_of_fits_without_each_row_and_its_duplicates():
    kept, weights = coins(60), np.random.default_rng(2).uniform(0.5, 2, 60)
    assert len(np.unique(kept, axis=0)) < 60
    sample = replace(single(kept - 0.5, COINS), weights=weights, starts=(0, 25))
    expected = slow(kept, curved(kept), weights, np.arange(60) >= 25, least_squares)
    assert told(sample, curved(kept), LeastSquares()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("p", [6, 12])
def test_rows_of_several_laws_are_predicted_with_their_own_intercepts(p):
    """With 6 coins some rows of both components are equal, and then a fifth of the rows is left out at a time."""
    kept, component = coins(60, p), np.repeat([0, 1], [25, 35])
    sample = single(kept - 0.5, Distribution(0.5, Covariance(np.full(p, 0.5))))
    components = Components(np.equal.outer([0, 1], component).astype(float), np.full((2, p), 0.5))
    sample = replace(sample, components=components, starts=(0, 25))
    y = curved(kept) + 50 * component

    table = np.column_stack([kept, component == 0, component == 1]).astype(float)
    left = []
    numbers = np.unique(kept, axis=0, return_inverse=True)[1]
    for row, answer in zip(table, y, strict=True):
        rest = (kept != row[:p]).any(axis=1)
        left.append(answer - row @ np.linalg.lstsq(table[rest], y[rest])[0])
    total = np.mean([y[component == each].var(ddof=1) * (component == each).sum() / 30 for each in (0, 1)])
    equal = len(np.unique(np.column_stack([numbers, component]), axis=0)) > numbers.max() + 1
    assert equal == (p == 6)
    expected = 1 - np.mean(np.square(left)) / total
    assert told(sample, y, LeastSquares()) == pytest.approx(expected, abs=0.1 if equal else 1e-9)


def test_a_fixed_penalty_is_kept():
    kept = coins(50, seed=3)

    def ridge(kept, y, weights):
        z = kept - kept.mean(axis=0)
        gamma = np.linalg.solve(z.T @ z + np.eye(6), z.T @ (y - y.mean()))
        return gamma, y.mean() - kept.mean(axis=0) @ gamma

    expected = slow(kept, curved(kept), np.ones(50), np.zeros(50), ridge)
    assert told(single(kept - 0.5, COINS), curved(kept), ESTIMATORS["fixed-ridge"]()) == pytest.approx(
        expected, abs=1e-9
    )


def test_mirrored_pairs_are_left_out_as_one():
    sample = DESIGNS["bernoulli"]().draw(np.random.default_rng(0), 80, COINS)
    kept = sample.coordinates[0::2]
    y = curved(sample.coordinates) + 5 * sample.coordinates[:, :3].prod(axis=1)  # whose odd part is not linear
    odd, even = (y[0::2] - y[1::2]) / 2, (y[0::2] + y[1::2]) / 2
    left = 0.0
    for row, answer in zip(kept - 0.5, odd, strict=True):
        rest = (kept - 0.5 != row).any(axis=1) & (kept - 0.5 != -row).any(axis=1)
        left += (answer - row @ np.linalg.lstsq(kept[rest] - 0.5, odd[rest])[0]) ** 2 / 40
    expected = 1 - (left + even.var(ddof=1)) / ((odd**2).mean() + even.var(ddof=1))
    assert told(sample, y, LeastSquares()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("estimator", ["least-squares", "ridge", "fixed-ridge", "lasso", "empirical-bayes"])
@pytest.mark.slow
def test_it_is_that_of_fresh_rows(estimator):
    """It is neither raised by rows that are fitted nor by what differs between rounds."""
    rates, found, fresh = (0.5, 0.9), [], []

    def rows(rng, n):
        kept = np.concatenate([(rng.random((n, 20)) >= rate).astype(float) for rate in rates])
        return kept, curved(kept)

    for seed in range(10):
        kept, y = rows(np.random.default_rng(seed), 40)
        sample = replace(single(kept - 0.5, Distribution(0.5, Covariance(np.full(20, 0.5)))), starts=(0, 40))
        estimate = ESTIMATORS[estimator]().fit(sample.problem(y, None))
        found.append(told(sample, y, ESTIMATORS[estimator]()))
        constant = (y - kept @ estimate.gamma).mean()
        more, answers = rows(np.random.default_rng(100 + seed), 400)
        left = np.mean((answers - constant - more @ estimate.gamma) ** 2)
        fresh.append(1 - left / np.mean([answers[:400].var(), answers[400:].var()]))
    assert np.mean(found) == pytest.approx(np.mean(fresh), abs=0.08)


@pytest.mark.parametrize(("p", "n"), [(20, 80), (6, 100), (20, 300)])
def test_what_rows_change_tells_as_much_as_fits_without_a_fifth_of_them(p, n):
    """With 6 words many rows are equal; of 300 rows some tune the prior."""
    by_changes, by_fits, fresh = [], [], []
    for seed in range(2):
        sample, more = rounds(p, n, seed), rounds(p, 2_000, 100 + seed)
        y, answers = curved(sample.coordinates), curved(more.coordinates)
        problem, others = sample.problem(y, None), more.problem(answers, None)
        estimate = KernelRidge().fit(problem)
        by_changes.append(held_out_r2(sample, y, problem, KernelRidge(), estimate))
        by_fits.append(held_out_r2(sample, y, problem, KernelRidge(), replace(estimate, changes=None)))
        left = others.squares(others.y - others.z @ estimate.gamma) / others.squares(others.y)
        fresh.append(1 - left)
    assert np.mean(by_changes) == pytest.approx(np.mean(by_fits), abs=0.05)
    assert np.mean(by_changes) == pytest.approx(np.mean(fresh), abs=0.08)


def of_two_laws(p, seed=0):
    """Return a sample of rows of two components, some of them in both, responses, and the components."""
    kept, component = coins(60, p, seed), np.repeat([0, 1], [25, 35])
    components = Components(np.equal.outer([0, 1], component).astype(float), np.full((2, p), 0.5))
    sample = replace(
        single(kept - 0.5, Distribution(0.5, Covariance(np.full(p, 0.5)))), components=components, starts=(0, 25)
    )
    return sample, curved(kept) + 50 * component, component


def within(y, component):
    """Return the variance within components, by their shares of the rows."""
    return np.mean([y[component == each].var(ddof=1) for each in component])


def test_a_fifth_of_the_different_rows_is_left_out_of_fits_and_of_intercepts():
    sample, y, component = of_two_laws(6)
    problem, table = (
        sample.problem(y, None),
        np.column_stack([sample.deviations, component == 0, component == 1]).astype(float),
    )
    fold = [[row.tolist() for row in sample.deviations].index(row.tolist()) for row in sample.deviations]
    fold = np.unique(fold, return_inverse=True)[1] % 5  # by first appearance
    left = np.empty(60)
    for each in range(5):
        left[fold == each] = (y - table @ np.linalg.lstsq(table[fold != each], y[fold != each])[0])[fold == each]
    estimate = replace(LeastSquares().fit(problem), leverages=None)
    found = held_out_r2(sample, y, problem, LeastSquares(), estimate)
    assert found == pytest.approx(1 - np.mean(left**2) / within(y, component), abs=1e-9)


def test_what_a_row_changes_counts_for_its_error_and_for_the_intercept_of_its_law():
    """The last component has copies of one row alone, which nothing predicts."""
    (sample, y, component), rng = of_two_laws(6), np.random.default_rng(1)
    z = np.concatenate([sample.deviations, np.full((4, 6), 0.5)])
    y, component = np.append(y, [1.0, 2.0, 4.0, 3.0]), np.append(component, [2, 2, 2, 2])
    number, gamma = np.unique(z, axis=0, return_inverse=True)[1].ravel(), rng.standard_normal(6)
    changes = rng.standard_normal((number.max() + 1, 6))[number]
    left = []
    for row in range(60):
        others = (component == component[row]) & (number != number[row])
        errors = y - z @ (gamma - changes[row])
        left.append(errors[row] - errors[others].mean())
    components = Components(np.equal.outer([0, 1, 2], component).astype(float), np.full((3, 6), 0.5))
    sample = replace(single(z, COINS), components=components, starts=(0, 25, 60))
    problem = sample.problem(y, None)
    found = held_out_r2(sample, y, problem, LeastSquares(), Estimate(gamma, np.eye(6), 6.0, changes=changes))
    assert found == pytest.approx(1 - np.mean(np.square(left)) / within(y[:60], component[:60]), abs=1e-9)


@pytest.mark.parametrize(("different", "known"), [(10, False), (11, True)])
def test_it_takes_more_than_ten_different_rows(different, known):
    rows = np.unique(coins(200), axis=0)[np.random.default_rng(0).permutation(40)[:different]]
    kept = np.repeat(rows, 4, axis=0)
    y = curved(kept) + np.random.default_rng(1).standard_normal(len(kept))
    assert (told(single(kept - 0.5, COINS), y, LeastSquares()) is not None) == known


def test_a_row_that_alone_determines_a_coefficient_is_not_counted():
    kept = coins(40)
    kept[:, 0] = 1
    lonely = np.vstack([kept, [0, 1, 1, 1, 1, 1]])
    with_it = told(single(lonely - 0.5, COINS), np.r_[curved(kept), 99.0], LeastSquares())
    others = Distribution(0.5, Covariance(np.full(5, 0.5)))
    without = told(single(kept[:, 1:] - 0.5, others), curved(kept), LeastSquares())
    assert with_it == pytest.approx(without, abs=1e-9)


def test_the_only_row_of_a_round_is_not_counted():
    kept, y = coins(41), curved(coins(41))
    y[40] = 99.0
    sample = replace(single(kept - 0.5, COINS), starts=(0, 40))
    errors = []
    for row, answer in zip(kept[:40], y[:40], strict=True):
        rest = (kept != row).any(axis=1)
        gamma, constant = least_squares(kept[rest], y[rest], np.ones(rest.sum()))
        errors.append(answer - constant - row @ gamma)
    expected = 1 - np.mean(np.square(errors)) / y[:40].var(ddof=1)
    assert told(sample, y, LeastSquares()) == pytest.approx(expected, abs=1e-9)


def test_it_is_unknown_where_no_row_can_be_left_out():
    assert run(smooth(5), "mase").r2_held_out is None  # all rows were asked
    assert run(smooth(5), "occlusion").r2_held_out is None
    few = coins(200)[:, :3]  # eight different rows
    three = Distribution(0.5, Covariance(np.full(3, 0.5)))
    assert told(single(few - 0.5, three), few @ np.arange(3.0), LeastSquares()) is None
    flat = coins(40)
    assert told(single(flat - 0.5, COINS), np.ones(40), LeastSquares()) is None


def test_what_differs_between_rounds_does_not_count_as_explained():
    """Later rounds keep other numbers of words, and only their number matters beside noise."""
    probe = FunctionProbe(lambda c: c.sum(axis=1) + 3 * np.sin(50 * c @ np.arange(40.0)), 40)
    found = measure(probe, resolve("mase", link="logit", n_samples=500), 0, np.random.default_rng(0))
    problem = found.problem
    assert problem.n_intercepts == 2 + 3 * 2
    errors = problem.y - problem.z @ found.estimate.gamma
    assert found.r2_held_out < found.r2 < 1 - errors.var() / problem.y.var() - 0.02


def test_a_linear_model_is_predicted():
    for method in ("mase", "mase-nlgp", "mase-cite", "kernel-shap", "lime"):
        found = run(linear(np.arange(1.0, 21)), method, n_samples=300)
        assert found.r2_held_out > 0.99
        assert not {note.code for note in found.notes} & {"poor-fit"}


def test_the_note_speaks_of_the_rows_left_out():
    probe = FunctionProbe(lambda c: curved(c - 0.7), 60)
    found = measure(probe, resolve("mase", link="logit", n_samples=250), 0, np.random.default_rng(0))
    assert found.r2_held_out < min(found.r2, 0.5)
    (note,) = (note for note in found.notes if note.code == "poor-fit")
    assert f"{found.r2_held_out:.0%}" in note.message


@pytest.mark.parametrize(
    ("n_said", "disturbed", "method", "told"),
    [(8, 3.8, "mase", True), (8, 0.0, "mase", True), (1, 4.2, "mase", False), (8, 3.8, "lime", False)],
)
@pytest.mark.slow
def test_the_note_says_where_more_samples_find_stronger_scores(n_said, disturbed, method, told):
    """Words say the same, so that one of them is enough; other words disturb, each of them only beside another."""

    def probe():
        return FunctionProbe(
            lambda c: 6.0 * (c[:, :n_said].max(axis=1) > 0) + disturbed * (c[:, -9:].sum(axis=1) % 2), 60
        )

    few, many = (
        measure(probe(), resolve(method, link="logit", n_samples=n), 0, np.random.default_rng(0)) for n in (500, 3000)
    )
    (note,) = (note for note in few.notes if note.code == "poor-fit")
    assert ("too near 0" in note.message) == told
    low, high = (found.estimate.gamma[:n_said].mean() for found in (few, many))
    assert (high > 1.5 * low) == told


def test_scores_of_all_rows_are_not_said_to_be_too_near_0():
    probe = FunctionProbe(lambda c: c.sum(axis=1) % 2 + 0.5 * c[:, 0], 8)
    found = measure(probe, resolve("mase", link="logit", n_samples=300), 0, np.random.default_rng(0))
    assert found.r2_held_out is None
    assert found.r2 < 0.4
    (note,) = (note for note in found.notes if note.code == "poor-fit")
    assert "too near 0" not in note.message


P = 14


MAINS = np.array([3.0, -1.2, 1.0, -0.9, 0.8, 0.7, -0.6, 0.5, 0.45, 0.4, 0.1, 0.1, 0.05, 0.05])


def with_pairs(pairs, size=P):
    """Return the probe of a linear function plus products of coordinates; `pairs` has their factors."""
    products = [(list(pair), factor) for pair, factor in pairs.items()]
    return FunctionProbe(
        lambda c: 0.3 + c @ MAINS[:size] + sum(factor * c[:, pair].prod(axis=1) for pair, factor in products), size
    )


def numbers(found):
    return {pair.units: pair.score for pair in found.interactions}


@pytest.mark.parametrize("method", ["mase", "mase-mask"])
def test_known_pairs_are_found_and_no_others(method):
    truth = {(0, 1): -2.0, (2, 5): 1.0}
    found = run(with_pairs(truth), method, n_samples=500)
    assert list(numbers(found)) == [(0, 1), (2, 5)]  # the strongest first
    assert all(abs(pair.score - truth[pair.units]) <= pair.half_width + 1e-9 for pair in found.interactions)
    first, second = found.interactions
    assert first.share > second.share > 0.01
    assert found.r2 + first.share + second.share == pytest.approx(1, abs=0.1)


def test_all_subsets_give_the_exact_banzhaf_interactions():
    probe = smooth(6, seed=3)
    exact = banzhaf(probe.function(subsets(6)), 6)
    found = run(probe, "mase-mask", n_samples=64)
    assert found.exact
    assert len(found.interactions) >= 3
    assert numbers(found) == pytest.approx({pair: exact[pair] for pair in numbers(found)}, abs=1e-12)
    assert {(pair.standard_error, pair.half_width) for pair in found.interactions} == {(0.0, 0.0)}
    strength = [abs(pair.score) for pair in found.interactions]
    assert strength == sorted(strength, reverse=True)
    total = probe.function(subsets(6)).var()
    for pair in found.interactions:
        assert pair.share == pytest.approx((pair.score / 4) ** 2 / total, abs=1e-12)
    left_out = set(exact) - set(numbers(found))
    assert all((exact[pair] / 4) ** 2 / total < 0.01 for pair in left_out)


@pytest.mark.parametrize("method", ["mase", "mase-mask"])
def test_pairs_are_the_exact_shapley_interactions_where_no_three_words_act_together(method):
    probe = with_pairs({(0, 1): -2.0, (2, 5): 1.0, (3, 4): -1.5, (1, 2): 0.9}, size=6)
    exact = shapley(probe.function(subsets(6)), 6)
    found = run(probe, method, n_samples=64)
    assert found.exact
    assert set(numbers(found)) == {(0, 1), (2, 5), (3, 4), (1, 2)}
    assert numbers(found) == pytest.approx({pair: exact[pair] for pair in numbers(found)}, abs=1e-10)


def test_rounds_average_the_differences_of_differences_over_their_rows():
    """Each round weighs a pair by the variances of its coins; the exact means are those of very many rows."""
    probe, rows = smooth(6, seed=3), subsets(6)
    exact = run(probe, "mase", n_samples=64, estimator="least-squares")
    few = np.prod(np.where(rows == 1, 0.1, 0.9), axis=1)
    y, components = probe.function(rows), [(0.5, np.full(64, 1 / 64)), (0.5, few)]
    for _ in range(3):
        centred = [(share * component, rows - component @ rows) for share, component in components]
        gram = sum((z.T * weights) @ z for weights, z in centred)
        gamma = np.linalg.solve(gram, sum(z.T @ (weights * y) for weights, z in centred))
        rank = np.argsort(np.argsort(-gamma))
        out = 0.1 + 0.8 / (1 + np.exp((rank - 2) / 2))
        for share, masked in ((0.75, out), (0.25, 1 - out)):
            components.append((share, np.prod(np.where(rows == 1, 1 - masked, masked), axis=1)))
    for pair in exact.interactions:
        top, below = 0.0, 0.0
        for share, component in components:
            i, j = (rows[:, unit] - component @ rows[:, unit] for unit in pair.units)
            top, below = top + share * component @ (i * j * y), below + share * component @ (i * i * j * j)
        assert pair.score == pytest.approx(top / below, abs=1e-12)
    assert len(exact.interactions) >= 2


def test_errors_are_those_of_other_seeds():
    truth = {(0, 1): -2.0, (0, 2, 3): 1.5, (4, 11, 12): 1.0, (5, 6, 7, 8): -1.0}
    solutions = [run(with_pairs(truth), "mase-mask", seed=seed, n_samples=400) for seed in range(30)]
    pairs = [pair for found in solutions for pair in found.interactions if pair.units == (0, 1)]
    assert len(pairs) == 30
    spread = np.std([pair.score for pair in pairs], ddof=1)
    assert 0.75 < np.mean([pair.standard_error for pair in pairs]) / spread < 1.5
    assert all(abs(pair.score + 2) < pair.half_width for pair in pairs)
    assert all(2.5 < pair.half_width / pair.standard_error < 4 for pair in pairs)


def test_many_pairs_without_interaction_are_rarely_found():
    """The parity of the weakest words is noise to all others; one of 45 pairs would often look significant."""
    probe = FunctionProbe(lambda c: c @ MAINS + 2 * np.prod(2 * c[:, 10:] - 1, axis=1), P)
    found = [run(probe, "mase-mask", seed=seed, n_samples=300).interactions for seed in range(20)]
    assert sum(map(bool, found)) <= 2


@pytest.mark.parametrize(
    ("method", "overrides"),
    [
        ("mase-nlgp", {}), ("lime", {}), ("lime-paper", {}), ("kernel-shap", {}), ("occlusion", {}),
        ("partition-shap", {}), ("mase-cite", {"n_samples": 200}),
    ],
)  # fmt: skip
def test_rows_that_do_not_tell_pairs_apart_show_none(method, overrides):
    assert run(with_pairs({(0, 1): -2.0}), method, **overrides).interactions == ()


def test_a_linear_model_and_a_nearly_linear_one_have_none():
    assert run(with_pairs({}), "mase", n_samples=400).interactions == ()
    assert run(with_pairs({(0, 1): 0.2}), "mase", n_samples=400).interactions == ()
    assert run(with_pairs({(0, 1): 0.2}, size=5), "mase").interactions == ()


def test_few_rows_fit_the_most_significant_pairs_and_too_few_fit_none():
    probe = with_pairs({(0, 1): -4.0})
    assert numbers(run(probe, "mase-mask", n_samples=80)) == pytest.approx({(0, 1): -4.0})  # 40 pairs of rows
    assert run(probe, "mase-mask", n_samples=40).interactions == ()
    assert run(probe, "mase", n_samples=24).interactions == ()


def test_no_pair_is_found_by_chance_in_few_rows():
    """Where one word of a list is enough, pairs of these matter a little, and far less than few rows may suggest."""
    found = []
    for seed in range(20):
        probe = FunctionProbe(lambda c: (c @ np.arange(10, 0, -1.0) > 27).astype(float), 10)
        found += [run(probe, name, seed=seed, n_samples=40).interactions for name in ("mase-mask", "glime")]
    assert not any(found)


@pytest.mark.parametrize(("method", "n_fitted"), [("mase-mask", 28), ("mase", 28 + 8)])
def test_intervals_are_students_with_the_rows_that_are_left(method, n_fitted):
    """Of the rows (pairs of mirrored ones), a mean for each component, 28 pairs, and words but of mirrored rows."""
    truth = {(0, 1): -2.5, (4, 5, 6, 7): 1.0, (1, 2, 3, 7): -1.0}
    found = run(with_pairs(truth, size=8), method, n_samples=180)
    free = found.problem.n - len(found.answered.sample.components.rates) - n_fitted
    assert 40 < free < 140
    for pair in found.interactions:
        quantile = stats.t.ppf(1 - 0.05 / 2 / 28, free)
        assert pair.half_width == pytest.approx(quantile * pair.standard_error, rel=1e-9)
    assert found.interactions[0].units == (0, 1)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_text_of_few_words(p):
    found = run(with_pairs({(0, 1): -2.0} if p > 1 else {}, size=p), "mase")
    assert numbers(found) == pytest.approx({(0, 1): -2.0} if p > 1 else {})


def test_a_stopping_rule_finds_them_too():
    rule = Stopping(tolerance=0.02)
    method = resolve("mase", link="logit", n_samples=2000)
    found = measure(with_pairs({(0, 1): -2.0}), method, 0, np.random.default_rng(0), stopping=rule)
    assert found.problem.n < 2000
    (pair,) = found.interactions
    assert pair.units == (0, 1)
    assert abs(pair.score + 2) <= pair.half_width < 2


def test_words_that_equal_the_reference_keep_their_places():
    probe = with_pairs({(1, 3): -3.0}, size=6)
    active = np.array([1.0, 1, 0, 1, 1, 1])

    class Partly(FunctionProbe):
        scale = active

    partly = Partly(probe.function, 6)
    assert list(numbers(run(partly, "mase"))) == [(1, 3)]
