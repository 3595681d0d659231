"""Tests of `mase.regression.covariance`."""

from fractions import Fraction

import numpy as np
import pytest

from mase.errors import NonFiniteError, OptionError, ShapeError
from mase.regression.covariance import covariance

FULL = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])


@pytest.mark.parametrize("sigma", [0.3, np.array([0.1, 0.2, 0.3]), FULL])
def test_color_whiten_solve_and_matrix_agree(sigma):
    distribution = covariance(sigma, np.array([1.0, 2.0, 0.5]))
    rows = np.random.default_rng(0).standard_normal((6, 3))
    colored = distribution.color(rows)
    assert distribution.whiten(colored) == pytest.approx(rows)
    assert distribution.solve(colored) @ distribution.matrix() == pytest.approx(colored)
    assert distribution.solve(colored[0]) == pytest.approx(np.linalg.solve(distribution.matrix(), colored[0]))
    assert np.sqrt(np.diag(distribution.matrix())) == pytest.approx(distribution.deviations)


def test_numbers_of_any_kind_are_a_sigma():
    numbers = [0.5, Fraction(1, 2), np.float32(0.5)]
    for sigma in (Fraction(1, 2), numbers, np.array(numbers, dtype=np.object_)):
        assert covariance(sigma, np.ones(3)).deviations == pytest.approx([0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("sigma", "error"),
    [
        (0.0, OptionError), (-1.0, OptionError), (np.nan, OptionError), (np.ones(2), ShapeError),
        (np.ones((3, 2)), ShapeError),
        (np.ones((3, 3)), OptionError), (FULL + np.triu(np.ones((3, 3)), 1), OptionError),
        (np.where(FULL > 0, np.inf, FULL), NonFiniteError), (-FULL, OptionError),
        ("0.1", OptionError), (["0.1"] * 3, OptionError), (True, OptionError), (0.1j, OptionError), ({}, OptionError),
        ([[0.1], [0.1, 0.1], [0.1]], OptionError), (lambda p: ["0.1"] * p, OptionError),
    ],
)  # fmt: skip
def test_bad_sigma(sigma, error):
    with pytest.raises(error, match="sigma"):
        covariance(sigma, np.ones(3))
