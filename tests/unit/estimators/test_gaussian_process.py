"""Tests of `mase.estimators.gaussian_process`."""

from dataclasses import replace

import numpy as np
import pytest

from mase.designs.close_up import CloseUp
from mase.designs.focused import Focused
from mase.designs.hadamard import Hadamard
from mase.designs.placement import subsets
from mase.errors import OptionError
from mase.estimators.empirical_bayes import EmpiricalBayes
from mase.estimators.gaussian_process import GaussianProcess
from mase.regression.laws import Laws
from mase.regression.problem import Problem

P = 8


def smooth(seed, noise=0.0):
    """Return a function of rows `(n, 8)`: strong units alone, in pairs, and saturating."""
    rng = np.random.default_rng(seed)
    gamma = rng.standard_t(3, P)
    pairs = np.triu(rng.standard_normal((P, P)) * np.outer(np.abs(gamma), np.abs(gamma)), 1)

    def function(kept):
        linear = kept @ gamma + 0.3 * np.einsum("np,pq,nq->n", kept, pairs, kept)
        return 3 * np.tanh(linear / 3) + noise * rng.standard_normal(len(kept))

    return function


def problem(design, n, seed, function):
    """Return the problem of n rows in the rounds of a design, which focuses on the coefficients of all subsets."""
    rng, distribution = np.random.default_rng(seed), design.distribution(np.ones(P))
    if design.rounds == 1:
        sample = design.draw(rng, n, distribution)
    else:
        first = round(design.shares[0] * n)
        sample = design.draw(rng, first, distribution)
        sample = sample.joined(design.draw(rng, n - first, distribution, np.arange(float(P))))
    return sample.problem(function(sample.coordinates), None)


def long_run(laws, function):
    """Return the least squares `(p,)` on all subsets, weighted by their probabilities under the laws."""
    rows, shares = subsets(P), laws.shares.mean(axis=1)
    weights = sum(
        share * np.where(rows == 1, rates, 1 - rates).prod(axis=1)
        for share, rates in zip(shares, laws.rates, strict=True)
    )
    design = np.sqrt(weights)[:, None] * np.column_stack([np.ones(len(rows)), rows])
    return np.linalg.lstsq(design, np.sqrt(weights) * function(rows))[0][1:]


@pytest.mark.parametrize(("design", "n"), [(Hadamard(), 32), (CloseUp(), 64)])
def test_intervals_cover_what_all_rows_give_and_errors_are_smaller_than_with_noise(design, n):
    covered, errors, of_noise = [], [], []
    for seed in range(40):
        function = smooth(seed)
        rows = problem(design, n, seed, function)
        truth = long_run(rows.laws, function)
        found = GaussianProcess().fit(rows)
        covered.append(np.abs(found.gamma - truth) < 1.96 * np.sqrt(found.variances))
        errors.append(np.linalg.norm(found.gamma - truth))
        of_noise.append(np.linalg.norm(EmpiricalBayes().fit(rows).gamma - truth))
    assert 0.92 < np.mean(covered) < 0.985
    assert np.median(errors) < 0.9 * np.median(of_noise)


def test_all_rows_leave_nothing_open():
    function, rows = smooth(1), subsets(P)
    laws = Laws.one(len(rows), np.full(P, 0.7))
    covariance = Hadamard().distribution(np.ones(P)).covariance
    every = Problem(rows - 0.5, function(rows), np.ones(len(rows)), None, True, covariance, laws=laws)
    found = GaussianProcess().fit(every)
    assert found.gamma == pytest.approx(long_run(laws, function), abs=1e-3)
    assert np.sqrt(found.variances).max() < 0.01


def test_rows_that_are_asked_twice_tell_nothing_new_unless_answers_differ():
    function = smooth(2)
    once = problem(Hadamard(), 32, 0, function)
    both = replace(once, z=np.tile(once.z, (2, 1)), y=np.tile(once.y, 2), weights=np.ones(64))
    both = replace(both, laws=Laws.one(64, np.full(P, 0.5)))
    one, two = GaussianProcess().fit(once), GaussianProcess().fit(both)
    assert two.gamma == pytest.approx(one.gamma, abs=1e-6)
    assert two.variances == pytest.approx(one.variances, rel=1e-4)
    noise = np.random.default_rng(3).standard_normal(64)
    assert (GaussianProcess().fit(replace(both, y=both.y + noise)).variances > 2 * one.variances).all()


def test_a_linear_model_is_found_exactly():
    rows = problem(Hadamard(), 32, 0, lambda kept: kept @ np.arange(1.0, P + 1) - 7)
    found = GaussianProcess().fit(rows)
    assert found.gamma == pytest.approx(np.arange(1.0, P + 1), abs=1e-3)
    assert found.dof == pytest.approx(P, abs=0.1)


@pytest.mark.parametrize("p", [3, 10])
def test_no_variance_is_negative_by_rounding(p):
    design = Hadamard()
    sample = design.draw(np.random.default_rng(0), 60, design.distribution(np.ones(p)))
    found = GaussianProcess().fit(sample.problem(1e6 * sample.coordinates[:, 0], None))
    assert (found.variances >= 0).all()
    assert found.gamma == pytest.approx(1e6 * np.eye(p)[0], abs=1)


def test_more_words_than_rows_and_constant_responses():
    rng, distribution = np.random.default_rng(0), Hadamard().distribution(np.ones(60))
    sample = Hadamard().draw(rng, 32, distribution)
    found = GaussianProcess().fit(sample.problem(sample.coordinates[:, :3].sum(axis=1), None))
    assert set(np.argsort(-found.gamma)[:3]) == {0, 1, 2}
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12
    same = GaussianProcess().fit(sample.problem(np.full(32, 2.0), None))
    assert not same.gamma.any()
    assert not same.variances.any()


def test_without_laws_what_is_not_linear_is_noise():
    rows = replace(problem(Hadamard(), 32, 0, smooth(0)), laws=None)
    assert GaussianProcess().fit(rows).gamma.tolist() == EmpiricalBayes().fit(rows).gamma.tolist()


@pytest.mark.parametrize("dof", [0, -1.0])
def test_other_degrees_of_freedom_are_refused(dof):
    with pytest.raises(OptionError, match="dof"):
        GaussianProcess(dof=dof)


@pytest.mark.parametrize("seed", range(3))
def test_a_response_that_depends_on_one_word_alone(seed):
    rng, design, one = np.random.default_rng(seed), Focused(chains=1), np.eye(37)[5]
    distribution = design.distribution(np.ones(37))
    sample = design.draw(rng, 75, distribution)
    sample = sample.joined(design.draw(rng, 75, distribution, rng.standard_normal((1, 1, 37))))
    found = GaussianProcess().fit(sample.problem(3 * sample.coordinates @ one, None))
    assert found.gamma == pytest.approx(3 * one, abs=1e-3)
    assert np.sqrt(found.variances).max() < 1e-3
