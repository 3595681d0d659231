"""Tests of `mase.regression.interactions`."""

import numpy as np
import pytest
from scipy import stats
from tests.exact_interactions import banzhaf, shapley
from tests.regressions import run

from mase.designs.placement import subsets
from mase.measure import measure
from mase.methods import resolve
from mase.regression.stopping import Stopping
from mase.testing import FunctionProbe, smooth

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
    y, laws = probe.function(rows), [(0.5, np.full(64, 1 / 64)), (0.5, few)]
    for _ in range(3):
        centred = [(share * law, rows - law @ rows) for share, law in laws]
        gram = sum((z.T * weights) @ z for weights, z in centred)
        gamma = np.linalg.solve(gram, sum(z.T @ (weights * y) for weights, z in centred))
        rank = np.argsort(np.argsort(-gamma))
        out = 0.1 + 0.8 / (1 + np.exp((rank - 2) / 2))
        for share, masked in ((0.75, out), (0.25, 1 - out)):
            laws.append((share, np.prod(np.where(rows == 1, 1 - masked, masked), axis=1)))
    for pair in exact.interactions:
        top, below = 0.0, 0.0
        for share, law in laws:
            i, j = (rows[:, unit] - law @ rows[:, unit] for unit in pair.units)
            top, below = top + share * law @ (i * j * y), below + share * law @ (i * i * j * j)
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
    """Of the rows (pairs of mirrored ones), a mean for each law, 28 pairs, and the words unless rows are mirrored."""
    truth = {(0, 1): -2.5, (4, 5, 6, 7): 1.0, (1, 2, 3, 7): -1.0}
    found = run(with_pairs(truth, size=8), method, n_samples=180)
    free = found.problem.n - len(found.answered.sample.laws.rates) - n_fitted
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
