"""Tests of `mase.regression.decomposition`."""

import numpy as np
import pytest

from mase.regression.decomposition import decomposed


def fails(*_args, **_settings):
    raise np.linalg.LinAlgError("SVD did not converge")


@pytest.mark.parametrize("converges", [True, False])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 4)])
def test_a_matrix_is_the_product_of_its_parts(monkeypatch, converges, whole, shape):
    matrix = np.random.default_rng(0).standard_normal(shape)
    if not converges:
        monkeypatch.setattr(np.linalg, "svd", fails)
    u, s, vt = decomposed(matrix, whole=whole)
    assert (u.shape, vt.shape) == (
        ((shape[0], shape[0]), (shape[1], shape[1])) if whole else ((shape[0], len(s)), (len(s), shape[1]))
    )
    assert u[:, : len(s)] * s @ vt[: len(s)] == pytest.approx(matrix)
    assert u.T @ u == pytest.approx(np.eye(u.shape[1]), abs=1e-12)
    assert vt @ vt.T == pytest.approx(np.eye(len(vt)), abs=1e-12)
