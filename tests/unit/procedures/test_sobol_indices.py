"""Tests of `mase.procedures.sobol_indices`."""

from itertools import product

import numpy as np
import pytest
from tests.regressions import run

import mase
from mase.errors import TooFewSamplesError
from mase.models import Callable
from mase.procedures.sobol_indices import SobolIndices
from mase.testing import FunctionProbe


def function(c):
    """Return a response with a pair, a word that lowers it, and words that do nothing."""
    return 2 * c[:, 0] - c[:, 1] + 3 * c[:, 2] * c[:, 3]


def exact(p):
    """Return the total indices `(p,)` of fair coins, from all masks."""
    rows = np.array(list(product([0.0, 1.0], repeat=p)))
    y, total = function(rows), np.empty(p)
    for j in range(p):
        other = rows.copy()
        other[:, j] = 1 - other[:, j]
        total[j] = np.mean((y - function(other)) ** 2) / 4 / y.var()
    return total


def test_indices_of_a_short_text_are_exact():
    found = run(FunctionProbe(function, 6), "sobol-indices", n_samples=70)
    assert found.estimate.gamma == pytest.approx(exact(6), abs=1e-12)
    assert not found.estimate.variances.any()
    assert found.cost.n_queries <= 67  # all masks, and the text once more
    assert not found.signed
    assert found.exact


@pytest.mark.parametrize("p", [1, 2])
def test_a_word_or_two_have_the_whole_variance(p):
    found = run(FunctionProbe(lambda c: c.sum(axis=1), p), "sobol-indices", n_samples=10)
    assert found.estimate.gamma == pytest.approx(np.full(p, 1 / p), abs=1e-12)


def test_errors_cover_the_indices_of_all_masks():
    runs = [run(FunctionProbe(function, 12), "sobol-indices", n_samples=1500, seed=seed).estimate for seed in range(60)]
    truth = np.concatenate([exact(4), np.zeros(8)])
    gamma, errors = (np.array([getattr(one, name) for one in runs]) for name in ("gamma", "variances"))
    errors = np.sqrt(errors)
    assert gamma.mean(axis=0) == pytest.approx(truth, abs=0.03)
    assert 0.85 < (np.abs(gamma - truth) <= 1.96 * errors)[:, :4].mean() < 0.99
    assert not gamma[:, 4:].any()
    assert not errors[:, 4:].any()


@pytest.mark.parametrize("n_samples", [84, 130])
def test_few_rows_never_make_an_index_that_is_wrong_look_exact(n_samples):
    runs = [run(FunctionProbe(lambda c: c[:, 0], 20), "sobol-indices", n_samples=n_samples, seed=s) for s in range(60)]
    gamma, variances = (np.array([getattr(one.estimate, name)[0] for one in runs]) for name in ("gamma", "variances"))
    known = ~np.isnan(variances)
    assert known.mean() > 0.6  # in the others the first rows have the same response
    assert (np.abs(gamma - 1)[known] <= 1.96 * np.sqrt(variances[known]) + 1e-9).mean() > 0.9
    assert gamma.max() < 30


def test_rows_that_vary_by_rounding_say_nothing_of_the_variance():
    responses, changed = np.array([0.9, 0.9, 0.9 + 1e-16, 0.9]), np.full((4, 30), 0.9)
    changed[:, 0] = 0.1
    found = SobolIndices().estimate(responses, changed)
    assert found.gamma[0] < 30
    assert np.isnan(found.variances[0])


@pytest.mark.parametrize("n_samples", [124, 200, 1000])
def test_the_budget_is_used_up_but_for_less_than_a_row_with_its_changes(n_samples):
    p = 30
    spent = run(FunctionProbe(function, p), "sobol-indices", n_samples=n_samples + 3).cost.n_queries
    assert n_samples - p - 1 < spent - 3 <= n_samples


@pytest.mark.parametrize("p", [6, 20])
@pytest.mark.parametrize("rounding", [0.0, 1e-16])
def test_words_that_change_nothing_but_the_last_digit_score_zero(p, rounding):
    def response(c):
        return 0.6 + rounding * (c @ np.arange(p))

    found = run(FunctionProbe(response, p), "sobol-indices", n_samples=100)
    assert not found.estimate.gamma.any()
    assert "constant" in [note.code for note in found.notes]


def judge(texts):
    """Return probabilities that "good" raises and "bad" lowers."""
    chance = np.array([0.5 + 0.3 * ("good" in text.split()) - 0.3 * ("bad" in text.split()) for text in texts])
    return np.stack([1 - chance, chance], axis=1)


def test_a_word_counts_however_it_speaks():
    text = "a good film, a bad end, and a story that is told rather slowly"
    found = mase.Explainer(Callable(judge, ["neg", "pos"]), method="sobol-indices")(text)
    assert {word.text for word in found.top(2)} == {"good", "bad"}
    assert found.scores.min() == 0
    assert {"unsigned", "shares"} <= {note.code for note in found.notes}
    page = found.to_html()
    assert "in either direction" in page
    assert "doubles" not in page
    assert "+0." not in page
    assert "+0." not in str(found)
    assert "no standard errors" not in page


def test_too_few_samples_say_how_many_are_needed():
    explainer = mase.Explainer(Callable(judge, ["neg", "pos"]), method="sobol-indices", n_samples=39)
    with pytest.raises(TooFewSamplesError, match="expected at least 40"):
        explainer("a slow and rather dull film about nothing special")
