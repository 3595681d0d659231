"""Tests of `mase.regression.repetition`: a model with noise is asked again, and the errors include its noise."""

import zlib
from dataclasses import dataclass

import numpy as np
import pytest
from tests.regressions import run

from mase.links import Output
from mase.measure import measure
from mase.methods import resolve
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.precision import AUTO
from mase.regression.repetition import repeated
from mase.regression.strategy import Solution
from mase.testing import FunctionProbe, smooth

LEVEL, SEEDS = 0.3, 40  # one of the seeds answers the text alike twice, as if the other rows of the batch mattered


def noisy(p, seed):
    """Return a probe whose answers have noise, so that no two are alike."""
    rng, inner = np.random.default_rng(seed), smooth(p, seed=5)
    return FunctionProbe(lambda c: inner.function(c) + LEVEL * rng.standard_normal(len(c)), p)


@pytest.mark.parametrize("method", ["mase", "mase-mask", "lime", "kernel-shap", "occlusion"])
def test_errors_cover_the_scores_of_the_expected_answers(method):
    expected = run(smooth(4, seed=5), method, n_samples=200).estimate.gamma
    inside, ratios = [], []
    for seed in range(SEEDS):
        found = run(noisy(4, seed), method, n_samples=200)
        errors = np.sqrt(found.estimate.variances)
        assert not found.exact
        assert (errors > 0).all()
        assert "not-deterministic" in {note.code for note in found.notes}
        inside.append(np.abs(found.estimate.gamma - expected) <= 1.96 * errors)
        ratios.append(((found.estimate.gamma - expected) / errors) ** 2)
    assert 0.88 < np.mean(inside) <= 1
    assert 0.3 < np.mean(ratios) < 1.8


@pytest.mark.parametrize(("budget", "n_runs"), [(4, 5), (28, 7), (1000, 10)])
def test_scores_without_sampling_error_are_means_of_runs_with_their_standard_errors(budget, n_runs):
    """A run has four rows. The variance of a score is at least the mean one, as a few runs tell little of it."""
    runs = []

    def solve(oracle):
        scores, nothing = oracle.text - oracle.responses(1 - np.eye(4)), np.zeros((4, 4))
        half = Estimate(scores / 2, nothing, 4.0)
        runs.append((scores, oracle.text))
        other = Solution(Estimate(-scores, nothing, 4.0), -oracle.text, oracle.cost)
        whole = Estimate(scores, nothing, 4.0, further={"half": half})
        return Solution(whole, oracle.text, oracle.cost, exact=True, others=(other,))

    oracle = Oracle.of(noisy(4, 0), "occlusion", "logit", 0, np.ones(4, dtype=bool), binary=True, options=AUTO)
    found = repeated(solve, oracle, budget)
    assert len(runs) == 1 + n_runs  # the first one finds the noise
    scores, texts = (np.array(each) for each in zip(*runs[1:], strict=True))
    variances = scores.var(axis=0, ddof=1)
    errors = np.maximum(variances, variances.mean()) / n_runs
    assert found.response == pytest.approx(texts.mean())
    assert not found.exact
    for one, times in ((found.estimate, 1), (found.estimate.further["half"], 0.5), (found.others[0].estimate, -1)):
        assert one.gamma == pytest.approx(times * scores.mean(axis=0))
        assert one.covariance == pytest.approx(times**2 * np.diag(errors))
    assert found.others[0].response == pytest.approx(-texts.mean())


def test_errors_cover_where_most_subsets_were_asked():
    """Of 256 subsets few are left, but the answers have noise."""
    expected = run(smooth(8, seed=5), "mase-cite", n_samples=2000).estimate.gamma
    inside = []
    for seed in range(8):
        estimate = run(noisy(8, seed), "mase-cite", n_samples=770).estimate
        inside.append(np.abs(estimate.gamma - expected) <= 1.96 * np.sqrt(estimate.variances))
    assert np.mean(inside) > 0.86


def test_noise_is_told_where_errors_are_unknown():
    told = {}
    for method in ("proxy-spex", "lime"):
        found = run(noisy(12, 0), method, n_samples=60)
        assert np.isnan(found.estimate.variances).all() == (method == "proxy-spex")
        told[method] = next(note.message for note in found.notes if note.code == "not-deterministic")
    assert ("standard errors" in told["proxy-spex"], "standard errors" in told["lime"]) == (False, True)


# After a try that finds the noise: 200 rows, each asked whenever it is drawn; or ten times four words and the text.
@pytest.mark.parametrize(("method", "n_noisy"), [("mase", 200), ("occlusion", 4 + 10 * 5)])
def test_subsets_are_asked_again_within_the_samples_and_counted(method, n_noisy):
    asked, inner = [], smooth(4)
    rng = np.random.default_rng(0)

    def function(c):
        asked.append(len(c))
        return inner.function(c) + LEVEL * rng.standard_normal(len(c))

    found = run(FunctionProbe(function, 4), method, n_samples=200)
    assert found.cost.n_queries == sum(asked)
    assert n_noisy <= found.cost.n_queries <= n_noisy + 16 + 12  # those that are compared are asked up to three times


def hash_noise(c, seed=0):
    """Return what rounding adds to the answers of rows `(n,)`, which differs in a batch and alone."""
    keys = [zlib.crc32(row.tobytes(), 2 * seed + (len(c) > 1)) for row in c]
    return np.array([np.random.default_rng(key).standard_normal() for key in keys])


@dataclass(frozen=True)
class _Rounding(FunctionProbe):
    rounding = np.inf


@pytest.mark.parametrize("method", ["mase", "occlusion"])
def test_rounding_costs_no_evaluation_and_is_in_the_errors(method):
    """Rows of a larger batch are rounded differently, as by matrix products in half precision."""
    inner = smooth(4, seed=5)

    def rounded(c):
        exact = inner.function(c)
        return exact + LEVEL * np.sin(1e4 * exact + 2 * (len(c) > 1))

    expected = run(inner, method, n_samples=200)
    found = run(_Rounding(rounded, 4), method, n_samples=200)
    assert {note.code for note in found.notes} >= {"rounding"}
    assert found.cost.n_queries <= expected.cost.n_queries + 9  # some rows again, alone
    errors = np.sqrt(found.estimate.variances)
    assert not found.exact
    assert (errors > 0).all()
    assert (np.abs(found.estimate.gamma - expected.estimate.gamma) <= 3 * errors).all()
    if method == "mase":
        assert expected.interactions  # of all subsets, without an error
    assert found.interactions == ()  # whose error by rounding is not known
    plain = run(FunctionProbe(rounded, 4), method, n_samples=200)
    assert {note.code for note in plain.notes} >= {"batch-dependent"}
    assert plain.cost.n_queries > found.cost.n_queries


@pytest.mark.parametrize(("method", "p", "n_seeds", "low", "high"), [
    ("occlusion", 30, 40, 0.7, 1.4), ("mase", 8, 10, 0.4, 2.2), ("glime", 8, 10, 0.4, 2.2),
    ("kernel-shap", 8, 10, 0.4, 2.2),
])  # fmt: skip
def test_errors_by_rounding_are_as_large_as_rounding_changes_scores(method, p, n_seeds, low, high):
    """Rounding differs from row to row, and from a row in a batch to the same row alone."""
    inner, size = smooth(p, seed=5), 1e-2
    expected = run(inner, method, n_samples=300).estimate.gamma
    squares = variances = 0.0
    for seed in range(n_seeds):

        def rounded(c, seed=seed):
            return inner.function(c) + size * hash_noise(c, seed)

        found = run(_Rounding(rounded, p), method, n_samples=300)
        assert {note.code for note in found.notes} >= {"rounding"}
        squares += np.sum((found.estimate.gamma - expected) ** 2)
        variances += found.estimate.variances.sum()
    assert low < squares / variances < high


@dataclass(frozen=True)
class _TwoValues(_Rounding):
    """Two values in different units: the second is a thousand times the first."""

    def scores(self, coordinates, rows):
        return super().scores(coordinates, rows)[:, :1] * np.array([1.0, 1000.0])


@pytest.mark.parametrize("method", ["occlusion", "mase"])
def test_each_response_has_its_own_error_by_rounding(method):
    inner = smooth(4, seed=5)
    probe = _TwoValues(lambda c: inner.function(c) + 1e-2 * hash_noise(c), 4, output=Output("values"))
    chosen = resolve(method, link="value", n_samples=300)
    found = measure(probe, chosen, 0, np.random.default_rng(0), others=[1])
    (other,) = found.others
    assert {note.code for note in other.notes} >= {"rounding"}
    assert (found.exact, other.exact, other.interactions) == (False, False, ())
    assert (found.estimate.variances > 0).all()
    assert other.estimate.gamma == pytest.approx(1e3 * found.estimate.gamma)
    assert other.estimate.variances == pytest.approx(1e6 * found.estimate.variances)
    alone = measure(probe, chosen, 1, np.random.default_rng(0))
    assert other.estimate.variances == pytest.approx(alone.estimate.variances)
