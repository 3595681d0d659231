"""Tests of `mase.regression.held_out`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.regressions import run

from mase.designs import DESIGNS
from mase.designs.focused import Focused
from mase.designs.placement import single
from mase.estimators import ESTIMATORS
from mase.estimators.kernel_ridge import KernelRidge
from mase.estimators.least_squares import LeastSquares
from mase.measure import measure
from mase.methods import resolve
from mase.regression.covariance import Covariance
from mase.regression.estimate import Estimate
from mase.regression.held_out import held_out_r2
from mase.regression.laws import Laws
from mase.regression.problem import Distribution
from mase.testing import FunctionProbe, linear, smooth

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
    """With 6 coins some rows of both laws are equal, and then a fifth of the rows is left out at a time."""
    kept, law = coins(60, p), np.repeat([0, 1], [25, 35])
    sample = single(kept - 0.5, Distribution(0.5, Covariance(np.full(p, 0.5))))
    laws = Laws(np.equal.outer([0, 1], law).astype(float), np.full((2, p), 0.5))
    sample = replace(sample, laws=laws, starts=(0, 25))
    y = curved(kept) + 50 * law

    table = np.column_stack([kept, law == 0, law == 1]).astype(float)
    left = []
    numbers = np.unique(kept, axis=0, return_inverse=True)[1]
    for row, answer in zip(table, y, strict=True):
        rest = (kept != row[:p]).any(axis=1)
        left.append(answer - row @ np.linalg.lstsq(table[rest], y[rest])[0])
    total = np.mean([y[law == each].var(ddof=1) * (law == each).sum() / 30 for each in (0, 1)])
    equal = len(np.unique(np.column_stack([numbers, law]), axis=0)) > numbers.max() + 1
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
    """Return a sample of rows of two laws, some of them equal to rows of the other law, responses, and the laws."""
    kept, law = coins(60, p, seed), np.repeat([0, 1], [25, 35])
    laws = Laws(np.equal.outer([0, 1], law).astype(float), np.full((2, p), 0.5))
    sample = replace(single(kept - 0.5, Distribution(0.5, Covariance(np.full(p, 0.5)))), laws=laws, starts=(0, 25))
    return sample, curved(kept) + 50 * law, law


def within(y, law):
    """Return the variance within laws, by their shares of the rows."""
    return np.mean([y[law == each].var(ddof=1) for each in law])


def test_a_fifth_of_the_different_rows_is_left_out_of_fits_and_of_intercepts():
    sample, y, law = of_two_laws(6)
    problem, table = sample.problem(y, None), np.column_stack([sample.deviations, law == 0, law == 1]).astype(float)
    fold = [[row.tolist() for row in sample.deviations].index(row.tolist()) for row in sample.deviations]
    fold = np.unique(fold, return_inverse=True)[1] % 5  # by first appearance
    left = np.empty(60)
    for each in range(5):
        left[fold == each] = (y - table @ np.linalg.lstsq(table[fold != each], y[fold != each])[0])[fold == each]
    estimate = replace(LeastSquares().fit(problem), leverages=None)
    found = held_out_r2(sample, y, problem, LeastSquares(), estimate)
    assert found == pytest.approx(1 - np.mean(left**2) / within(y, law), abs=1e-9)


def test_what_a_row_changes_counts_for_its_error_and_for_the_intercept_of_its_law():
    """The last law has copies of one row alone, which nothing predicts."""
    (sample, y, law), rng = of_two_laws(6), np.random.default_rng(1)
    z = np.concatenate([sample.deviations, np.full((4, 6), 0.5)])
    y, law = np.append(y, [1.0, 2.0, 4.0, 3.0]), np.append(law, [2, 2, 2, 2])
    number, gamma = np.unique(z, axis=0, return_inverse=True)[1].ravel(), rng.standard_normal(6)
    changes = rng.standard_normal((number.max() + 1, 6))[number]
    left = []
    for row in range(60):
        others = (law == law[row]) & (number != number[row])
        errors = y - z @ (gamma - changes[row])
        left.append(errors[row] - errors[others].mean())
    laws = Laws(np.equal.outer([0, 1, 2], law).astype(float), np.full((3, 6), 0.5))
    sample = replace(single(z, COINS), laws=laws, starts=(0, 25, 60))
    problem = sample.problem(y, None)
    found = held_out_r2(sample, y, problem, LeastSquares(), Estimate(gamma, np.eye(6), 6.0, changes=changes))
    assert found == pytest.approx(1 - np.mean(np.square(left)) / within(y[:60], law[:60]), abs=1e-9)


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
