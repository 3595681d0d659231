"""Tests of `mase.estimators.dantzig`."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mase.estimators.dantzig import minimum_l1
from mase.estimators.sparse import soft_threshold

P = 20


RNG = np.random.default_rng(11)


def test_soft_threshold_is_the_linear_program_of_a_diagonal_sigma():
    b, tol = RNG.standard_normal(P), 0.4
    deviations = RNG.uniform(0.1, 2, P)
    assert soft_threshold(b, tol, deviations**2) == pytest.approx(
        _whole_program(np.diag(deviations**2), b, tol), abs=1e-9
    )


def _whole_program(matrix, b, tol):
    p = len(b)
    solved = linprog(
        np.ones(2 * p),
        np.block([[matrix, -matrix], [-matrix, matrix]]),
        np.concatenate([b + tol, tol - b]),
        bounds=(0, None),
    )
    return solved.x[:p] - solved.x[p:]


@pytest.mark.parametrize("correlation", [0.3, 0.9])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_generated_program_is_the_whole_program(correlation, share):
    p = 60
    matrix = 0.01 * correlation ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    b = matrix @ np.where(RNG.random(p) < 0.2, RNG.standard_normal(p), 0) + 1e-3 * RNG.standard_normal(p)
    tol = share * np.abs(b).max()
    found = minimum_l1(matrix, b, tol)
    assert np.abs(found).sum() == pytest.approx(np.abs(_whole_program(matrix, b, tol)).sum(), rel=1e-7)
    assert (np.abs(b - matrix @ found) - tol).max() / np.abs(b).max() <= 1e-8


def test_program_of_512_correlated_coordinates_meets_its_optimality_conditions():
    p, rng = 512, np.random.default_rng(2)
    matrix = 0.01 * 0.7 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    z = rng.standard_normal((1000, p)) @ np.linalg.cholesky(matrix).T
    truth = np.where(rng.random(p) < 0.06, rng.standard_normal(p), 0)
    b = (z * (z @ truth)[:, None]).mean(axis=0)
    tol = 0.1 * np.abs(b).max()
    found = minimum_l1(matrix, b, tol)
    scale = np.abs(b).max()
    residual = b - matrix @ found
    support, tight = np.flatnonzero(found), np.flatnonzero(np.abs(residual) > tol - 1e-9 * scale)
    assert (np.abs(residual) - tol).max() / scale <= 1e-8  # primal feasible
    # A dual certificate on the tight rows, S_tight' d = sign(g) on the support and |S' d| <= 1: the optimum's price.
    price, *_ = np.linalg.lstsq(matrix[np.ix_(tight, support)].T, np.sign(found[support]))
    assert np.abs(matrix[:, tight] @ price).max() <= 1 + 1e-8
    assert (price * residual[tight] >= -1e-8).all()
    gap = b[tight] @ price - tol * np.abs(price).sum() - np.abs(found).sum()
    assert abs(gap) / np.abs(found).sum() <= 1e-8
