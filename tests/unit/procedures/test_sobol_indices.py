"""Tests of `mase.procedures.sobol_indices`."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.regressions import run

import mase
from mase.errors import OptionError, TooFewSamplesError
from mase.methods import resolve
from mase.models import Callable
from mase.procedures.sobol_indices import SobolIndices
from mase.testing import FunctionProbe


def function(c):
    """Return a response with a pair, a word that lowers it, and a word that does nothing."""
    return 2 * c[:, 0] - c[:, 1] + 3 * c[:, 2] * c[:, 3]


def exact(p):
    """Return the total and the first-order indices `(p,)` of fair coins, from all masks."""
    rows = np.array(list(product([0.0, 1.0], repeat=p)))
    y = function(rows)
    total, first = np.empty(p), np.empty(p)
    for j in range(p):
        other = rows.copy()
        other[:, j] = 1 - other[:, j]
        total[j] = np.mean((y - function(other)) ** 2) / 4 / y.var()
        first[j] = np.var([y[rows[:, j] == bit].mean() for bit in (0, 1)]) / y.var()
    return {"total": total, "first": first}


@pytest.mark.parametrize("order", ["total", "first"])
def test_indices_are_those_of_all_masks(order):
    method = replace(resolve("sobol-indices"), strategy=SobolIndices(order))
    found = run(FunctionProbe(function, 5), method, n_samples=40_000)
    assert found.estimate.gamma == pytest.approx(exact(5)[order], abs=0.02)
    assert not found.signed
    assert np.isnan(found.estimate.covariance).all()


@pytest.mark.parametrize(("order", "others"), [("total", 1), ("first", 2)])
@pytest.mark.parametrize("n_samples", [200, 1000])
def test_the_budget_is_used_up_but_for_less_than_a_row_of_each(order, others, n_samples):
    p = 30
    method = replace(resolve("sobol-indices"), strategy=SobolIndices(order))
    spent = run(FunctionProbe(function, p), method, n_samples=n_samples).cost.n_queries
    assert n_samples - p - others < spent <= n_samples + 3


def test_words_that_change_nothing_score_zero():
    found = run(FunctionProbe(lambda c: np.full(len(c), 0.3), 6), "sobol-indices", n_samples=100)
    assert not found.estimate.gamma.any()
    assert "constant" in [note.code for note in found.notes]


def test_answers_that_only_vary_where_a_word_is_exchanged_have_finite_indices():
    responses = np.ones(4), np.ones(4), np.array([[1.0, 2.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    found = SobolIndices().indices(*responses)
    assert np.isfinite(found).all()
    assert found[1] > found[0] == 0


def test_a_word_counts_however_it_speaks(lstm_model):
    def judge(texts):
        chance = np.array([0.5 + 0.3 * ("good" in text.split()) - 0.3 * ("bad" in text.split()) for text in texts])
        return np.stack([1 - chance, chance], axis=1)

    found = mase.Explainer(Callable(judge, ["neg", "pos"]), method="sobol-indices")("a good film, a bad end")
    assert {word.text for word in found.top(2)} == {"good", "bad"}
    assert (found.scores >= 0).all()
    assert "unsigned" in [note.code for note in found.notes]


def test_errors_say_what_to_do(lstm_model):
    with pytest.raises(TooFewSamplesError, match=r"expected at least \d+"):
        mase.Explainer(lstm_model, method="sobol-indices", n_samples=8)("a slow and rather dull film about nothing")
    with pytest.raises(OptionError, match="expected one of total, first"):
        SobolIndices("second")
    with pytest.raises(OptionError, match="at most 10,600"):
        run(FunctionProbe(lambda c: c.sum(axis=1), 10_601), "sobol-indices", n_samples=50_000)
