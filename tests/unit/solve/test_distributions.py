"""Tests of `mase.solve.distributions`."""

from fractions import Fraction

import numpy as np
import pytest

from mase.designs.placement import every_under, subsets
from mase.errors import NonFiniteError, OptionError, ShapeError
from mase.solve import distributions
from mase.solve.distributions import Components, Covariance, Mixture, covariance, self_consistent
from mase.solve.problem import Distribution

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


@pytest.mark.parametrize("limit", [3, 2])
def test_of_many_coordinates_there_are_only_the_variances(monkeypatch, limit):
    monkeypatch.setattr(distributions, "MOST_CORRELATED", limit)
    rows = np.random.default_rng(0).standard_normal((6, 3))
    whole = sum(np.outer(row, row) for row in rows)
    assert distributions.scatter(rows) == pytest.approx(whole if limit == 3 else np.diag(whole))
    assert distributions.no_scatter(3).tolist() == np.zeros((3, 3) if limit == 3 else 3).tolist()


@pytest.mark.parametrize("matrix", [np.linalg.cholesky(FULL), np.diag([1.0, 2.0, 3.0])])
def test_a_factor_that_is_a_diagonal_is_that_matrix(matrix):
    rows, diagonal = np.random.default_rng(0).standard_normal((6, 3)), (matrix == np.diag(np.diag(matrix))).all()
    for factor in [matrix, *([np.diag(matrix)] if diagonal else [])]:
        assert distributions.times(rows, factor) == pytest.approx(rows @ matrix)
        assert distributions.product(factor, whole=True) == pytest.approx(matrix @ matrix.T)
        assert distributions.product(factor, whole=False) == pytest.approx(np.diag(matrix @ matrix.T))


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


def test_joined_rows_have_the_laws_of_both_and_some_rows_only_their_own():
    first, second = Components.one(2, np.full(3, 0.5)), Components.one(4, np.array([0.9, 0.9, 1.0]), independent=False)
    joined = first.joined(second)
    assert joined.shares.tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]]
    assert not joined.independent
    assert joined.rows(slice(2)).rates.tolist() == [[0.5, 0.5, 0.5]]
    assert joined.rows(np.arange(6) > 1).shares.tolist() == second.shares.tolist()


def test_mixed_rows_are_due_to_both_laws_by_their_weights():
    first, second = Components.one(2, np.full(3, 0.5)), Components.one(2, np.full(3, 0.2))
    mixed = first.mixed(np.array([1.0, 3.0]), second, np.array([1.0, 1.0]))
    assert mixed.shares.tolist() == [[0.5, 0.75], [0.5, 0.25]]
    assert mixed.rates[:, 0].tolist() == [0.5, 0.2]


def alone(rates):
    """Return a single component."""
    return Mixture(np.ones((1, len(rates))), np.asarray(rates)[None])


def test_laws_that_follow_from_their_scores_are_a_mean_where_words_change_places():
    """Two words, of which the one that is kept less often has the lower score."""

    def target_mixture(scores):
        return [alone(np.where(np.arange(2) == one.argmax(), 0.2, 0.8)) for one in scores]

    found = self_consistent(
        target_mixture([np.zeros(2)])[0], lambda one: target_mixture([one])[0], lambda mixture: mixture.rates[0]
    )
    assert found.rates[0] == pytest.approx([0.5, 0.5], abs=0.02)


def test_laws_begin_with_those_of_equal_scores():
    """Two words that need each other: whichever is kept more often has the lower score."""

    def target_mixture(scores):
        (one,) = scores
        rates = np.array([0.2, 0.8])[np.argsort(np.argsort(-one))]
        return [alone(np.full(2, rates.mean()) if np.ptp(one) == 0 else rates)]

    found = self_consistent(
        target_mixture([np.zeros(2)])[0], lambda one: target_mixture([one])[0], lambda mixture: mixture.rates[0, ::-1]
    )
    assert found.rates[0] == pytest.approx([0.5, 0.5])


def test_the_shares_of_laws_are_a_mean_over_the_steps_as_well():
    """A word that leads has one component alone, and the other word another one."""

    def target_mixture(scores):
        leads = (1 + np.sign(scores - scores.mean(axis=1, keepdims=True))) / 2
        return [Mixture(np.stack([one, 1 - one]), np.full((2, 2), 0.5)) for one in leads]

    scores = iter([np.array([2.0, 1.0])] + [np.array([1.0, 2.0])] * 3)
    found = self_consistent(
        target_mixture(np.zeros((1, 2)))[0], lambda one: target_mixture(one[None])[0], lambda mixture: next(scores)
    )
    assert found.shares[0] == pytest.approx([1 / 4, 3 / 4])
    assert found.shares.sum(axis=0) == pytest.approx([1, 1])


def test_a_coefficient_is_a_mean_of_those_of_its_own_laws():
    """Each is the mean effect of a word under a component, weighted by its share and the variance of its coin there."""
    rows = subsets(3)
    y = 2 * rows[:, 0] + rows[:, 1] * rows[:, 2]
    mixture = Mixture(np.array([[1.0, 0.0, 0.4], [0.0, 1.0, 0.6]]), np.array([[0.2, 0.5, 0.9], [0.7, 0.5, 0.5]]))
    weights = np.array([0.4 * 0.09, 0.6 * 0.25])
    found = y @ mixture.row_weights(rows)
    assert found == pytest.approx([2.0, 0.5, weights @ [0.5, 0.5] / weights.sum()])
    assert y @ Mixture(mixture.shares[::-1], mixture.rates).row_weights(rows) == pytest.approx([2.0, 0.9, 0.5])


def test_a_word_that_never_varies_has_the_coefficient_0():
    rows = subsets(2)
    assert rows.sum(axis=1) @ alone([1.0, 0.5]).row_weights(rows) == pytest.approx([0, 1])


def test_all_rows_have_their_probabilities_under_laws():
    distribution = Distribution(0.5, Covariance(np.full(3, 0.5)))
    components = Components(np.array([[0.25], [0.75]]), np.array([[0.5, 0.5, 0.5], [0.2, 0.9, 0.4]]))
    every = every_under(components, distribution)
    assert every.weights.sum() == pytest.approx(8)
    assert every.weights @ every.coordinates / 8 == pytest.approx([0.275, 0.8, 0.425])
    own = every.weights * every.components.shares[1] / 8
    assert own @ (every.coordinates[:, 0] * every.coordinates[:, 1]) == pytest.approx(0.75 * 0.2 * 0.9)
