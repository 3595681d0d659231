"""Tests of `mase.estimators.sparse`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.estimators.sparse import Sparse
from mase.regression.covariance import covariance
from mase.regression.problem import Problem
from mase.testing import smooth

P = 20


RNG = np.random.default_rng(11)


GAMMA = RNG.standard_normal(P)


def test_sparse_keeps_the_ranking_of_theorem_1():
    dense = run(smooth(P), "mase-paper", sigma=0.3).estimate.gamma
    sparse = run(smooth(P), "mase-sparse", sigma=0.3).estimate.gamma
    kept = np.flatnonzero(sparse)
    assert 0 < len(kept) < P
    assert np.argsort(np.abs(sparse[kept])).tolist() == np.argsort(np.abs(dense[kept])).tolist()


def test_sparse_tolerances():
    z = RNG.standard_normal((500, P)) * 0.1
    problem = Problem(z, 0.2 + z @ GAMMA, np.ones(500), 0.2, True, covariance(0.1, np.ones(P)))
    b = np.mean((problem.y - 0.2)[:, None] * z, axis=0)
    absolute = Sparse(tol=0.004, relative=False).fit(problem).gamma
    assert absolute == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - 0.004, 0) / 0.01)
    universal = np.std((problem.y - 0.2)[:, None] * z, axis=0).max() * np.sqrt(2 * np.log(P) / 500)
    automatic = Sparse(tol="auto").fit(problem).gamma
    assert automatic == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - universal, 0) / 0.01)
    assert not Sparse(tol=1.0).fit(problem).gamma.any()


def test_empirical_gram_beats_the_law_on_a_sparse_model():
    truth = np.where(np.arange(80) % 16 == 0, 1.0, 0.0)
    z = np.random.default_rng(3).standard_normal((1000, 80)) * 0.1
    problem = Problem(z, z @ truth, np.ones(1000), 0.0, True, covariance(0.1, np.ones(80)))
    errors = {
        gram: np.abs(Sparse(tol=0.02, gram=gram).fit(problem).gamma - truth).max() for gram in ("law", "empirical")
    }
    assert errors["empirical"] < errors["law"] / 2
