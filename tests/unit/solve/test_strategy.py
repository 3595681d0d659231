"""Tests of `mase.solve.strategy`: a model with noise is asked again, and the errors include its noise."""

import zlib
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm
from tests.regressions import run

import mase
from mase.errors import OptionError
from mase.links import Output
from mase.methods import resolve
from mase.pipeline import measure
from mase.solve.distributions import covariance
from mase.solve.oracle import AUTO_QUERY, Oracle
from mase.solve.problem import Estimate, Sample
from mase.solve.strategy import NEVER, Solution, Stopping, relative_error, repeated, top_margin
from mase.testing import FunctionProbe, linear, smooth

LEVEL, SEEDS = 0.3, 40  # one of the seeds answers the text alike twice, as if the other rows of the batch mattered


def noisy(p, seed):
    """Return a probe whose answers have noise, so that no two are alike."""
    rng, inner = np.random.default_rng(seed), smooth(p, seed=5)
    return FunctionProbe(lambda c: inner.function(c) + LEVEL * rng.standard_normal(len(c)), p)


@pytest.mark.parametrize("method", ["mase", "mase-mask", "lime", "kernel-shap", "occlusion"])
@pytest.mark.slow
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
        whole = Estimate(scores, nothing, 4.0, other_effects={"half": half})
        return Solution(whole, oracle.text, oracle.cost, exact=True, others=(other,))

    oracle = Oracle.of(noisy(4, 0), "occlusion", "logit", 0, np.ones(4, dtype=bool), binary=True, options=AUTO_QUERY)
    found = repeated(solve, oracle, budget)
    assert len(runs) == 1 + n_runs  # the first one finds the noise
    scores, texts = (np.array(each) for each in zip(*runs[1:], strict=True))
    variances = scores.var(axis=0, ddof=1)
    errors = np.maximum(variances, variances.mean()) / n_runs
    assert found.response == pytest.approx(texts.mean())
    assert not found.exact
    for one, times in (
        (found.estimate, 1),
        (found.estimate.other_effects["half"], 0.5),
        (found.others[0].estimate, -1),
    ):
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


@pytest.mark.slow
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


class _Told:
    """A reporter that counts the rows of the batches that it is told of."""

    n = 0

    def asked(self, n):
        self.n += n

    def solved(self, interim):
        """Nothing is wanted of rounds."""


@pytest.mark.parametrize("share", [0.0, 0.5])  # asked row by row; and rounding, once some rows were asked again
@pytest.mark.parametrize("method", ["mase", "occlusion"])
def test_every_row_that_a_model_of_batches_is_asked_for_is_told_and_counted(method, share):
    asked, inner, told = [], smooth(6, seed=5), _Told()

    def function(c):
        asked.append(len(c))
        return inner.function(c) + 1e-2 * hash_noise(c)

    probe = type("_Share", (_Rounding,), {"rounding": share})(function, 6)
    chosen = resolve(method, link="logit", n_samples=200)
    found = measure(probe, chosen, 0, np.random.default_rng(0), reporter=told)
    assert {"rounding" if share else "batch-dependent"} == {note.code for note in found.notes} - {"few-samples"}
    assert told.n + probe.n_setup == found.cost.n_queries == sum(asked)


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


def stopping_run(probe, stopping, seed=0, **options):
    method = resolve("mase-nlgp", link="logit", **({"n_samples": 40_000, "sigma": 0.3} | options))
    return measure(probe, method, 0, np.random.default_rng(seed), stopping=stopping)


@cache
def true_coefficients(seed):
    """Return the coefficients of `smooth(15, seed)`, to a few parts in a thousand."""
    return stopping_run(smooth(15, seed=seed), Stopping(), n_samples=100_000, design="antithetic").estimate.gamma


@pytest.mark.parametrize("tolerance", [0.2, 0.05, 0.02])
@pytest.mark.parametrize("design", ["orthogonal", "iid"])
@pytest.mark.slow
def test_reached_error_is_the_one_asked_for(tolerance, design):
    """The stated error is met and not overshot by much; the true error agrees with it on average."""
    probe, truth = smooth(15), true_coefficients(0)
    stated, actual, cost = [], [], []
    for seed in range(12):
        found = stopping_run(probe, Stopping(tolerance=tolerance), seed, design=design)
        stated.append(relative_error(found.estimate))
        actual.append(np.linalg.norm(found.estimate.gamma - truth) / np.linalg.norm(truth))
        cost.append(found.cost.n_queries)
    assert max(stated) <= tolerance
    assert np.sqrt(np.mean(np.square(actual))) < 1.1 * tolerance
    if max(cost) > 200:  # beyond the first round
        assert np.mean(stated) > 0.8 * tolerance
    assert max(cost) < 40_000


def test_a_linear_model_needs_one_round():
    found = stopping_run(linear(np.arange(1.0, 11)), Stopping(tolerance=0.01))
    assert found.cost.n_queries == 3 + 2 * 2 * (10 + 3)
    assert not found.notes  # such as few-samples, as a rule ended the run and not n_samples


@pytest.mark.parametrize("method", ["mase-mask", "context-cite", "lime-paper"])
@pytest.mark.slow
def test_rows_that_were_all_answered_alike_do_not_meet_a_tolerance(method):
    """Five words of twelve must be kept: of the first rows, hardly any has them all."""
    probe = FunctionProbe(lambda kept: 1.0 * (kept[:, :5] > 0.5).all(axis=1), 12)
    for seed in range(6):
        tolerant = resolve(method, link="logit", n_samples=1000)
        found = measure(probe, tolerant, 0, np.random.default_rng(seed), stopping=Stopping(tolerance=0.1))
        assert found.estimate.gamma[:5].min() > 0


def test_a_constant_is_not_said_to_miss_a_tolerance():
    found = stopping_run(FunctionProbe(lambda kept: np.ones(len(kept)), 12), Stopping(tolerance=0.1), n_samples=200)
    assert {note.code for note in found.notes} == {"constant"}


@pytest.mark.slow
def test_stable_top_is_the_true_top():
    probe, truth = smooth(15, seed=2), true_coefficients(2)
    hits = 0
    for seed in range(20):
        found = stopping_run(probe, Stopping(stable_top=3), seed)
        hits += set(np.argsort(-found.estimate.gamma)[:3]) == set(np.argsort(-truth)[:3])
        assert not found.notes or "top-unstable" not in {note.code for note in found.notes}
    assert hits >= 19


def test_budget_that_ends_too_soon_is_remarked():
    found = stopping_run(smooth(15), Stopping(tolerance=1e-4, stable_top=7), n_samples=100)
    assert found.cost.n_queries == 103
    codes = {note.code for note in found.notes}
    assert "tolerance-missed" in codes


@pytest.mark.parametrize(("excess", "goal"), [(1.25, 154), (5.0, 200), (0.1, int(np.ceil(1.1 * 100)))])
@pytest.mark.parametrize("rule", [{"tolerance": 0.1}, {"stable_top": 1}])
@pytest.mark.parametrize(("paired", "cap"), [(False, 1000), (True, 1000), (False, 120)])
def test_the_next_rows_are_those_with_which_an_error_that_falls_with_the_root_of_rows_is_met(
    excess, goal, rule, paired, cap
):
    """Three scores of 100 independent rows; an intercept unless they are mirrored: 154 = 3 + 1 + 96 * 1.25^2."""
    n, gamma = 200 if paired else 100, np.array([4.0, 3.0, 0.0])
    rows = np.zeros((n, 3))
    sample = Sample(rows, rows, np.ones(n), paired, 0.5, covariance(1.0, np.ones(3)))
    bound = norm.ppf(1 - 0.05 / 2)  # of the differences of the best score from two others
    variance = (0.1 * excess * 5) ** 2 / 3 if "tolerance" in rule else (excess / bound) ** 2 / 2
    estimate = Estimate(gamma, variance * np.eye(3), 3.0)
    if paired and excess == 1.25:
        goal = int(np.ceil(3 + 97 * excess**2))
    solved = sample.problem(np.zeros(n), None), estimate
    assert Stopping(**rule, confidence=0.95).goal(sample, cap, solved) == min(cap, (1 + paired) * goal)


def test_margin_by_hand():
    estimate = Estimate(np.array([3.0, 1.0, 0.0]), np.diag([0.04, 0.05, 0.0]), 3.0)
    # gaps 2 and 3, spreads 0.3 and 0.2, bound at 1 - 0.05 / 2
    assert top_margin(estimate, 1, 0.95) == pytest.approx(2 / 0.3 / 1.959964, rel=1e-5)
    # of the first two words with the third: gaps 3 and 1, and the same bound for two pairs
    assert top_margin(estimate, 2, 0.95) == pytest.approx(1 / np.sqrt(0.05) / 1.959964, rel=1e-5)
    assert top_margin(estimate, 3, 0.95) == np.inf
    together = Estimate(np.array([2.0, 1.0]), np.array([[0.5, 0.48], [0.48, 0.5]]), 2.0)  # a spread of 0.2
    assert top_margin(together, 1, 0.95) == pytest.approx(1 / 0.2 / 1.644854, rel=1e-5)
    assert relative_error(estimate) == pytest.approx(0.3 / np.sqrt(10))


@pytest.mark.parametrize(
    ("method", "overrides"), [("mase-nlgp", {"design": "moment-matched"}), ("kernel-shap", {}), ("leverage-shap", {})]
)
def test_rows_that_are_matched_as_a_whole_know_no_rule(method, overrides):
    chosen = resolve(method, n_samples=500, **overrides)
    with pytest.raises(OptionError):
        measure(smooth(15), chosen, 0, np.random.default_rng(0), stopping=Stopping(tolerance=0.5))


def test_a_rule_is_met_where_nothing_is_sampled():
    for method, p in (("occlusion", 15), ("kernel-shap", 5)):
        found = measure(smooth(p), resolve(method), 0, np.random.default_rng(0), stopping=Stopping(tolerance=0.1))
        assert found.exact
        assert "tolerance-missed" not in {note.code for note in found.notes}


def test_what_helps_after_a_rule_is_another_rule():
    """A rule ended the run, so a larger n_samples would change nothing."""
    words = FunctionProbe(lambda c: np.sign(c @ np.arange(1.0, 21) - 105) + c[:, 19], 20)
    found = measure(
        words, resolve("mase-mask", n_samples=5000), 0, np.random.default_rng(0), stopping=Stopping(tolerance=3.0)
    )
    assert found.problem.n < 2500
    (message,) = (note.message for note in found.notes if note.code == "unstable")
    assert "n_samples" not in message


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": 0},
        {"tolerance": np.nan},
        {"tolerance": "x"},
        {"stable_top": 0},
        {"stable_top": 2.5},
        {"confidence": 1.0},
    ],
)
def test_bad_rules(wrong):
    with pytest.raises(OptionError):
        Stopping(**wrong)


def test_explainer_stops_early_and_says_what_it_used(lstm_model):
    text = "this is a rather good film , though slow"
    full = mase.Explainer(lstm_model, n_samples=2000)(text)
    early = mase.Explainer(lstm_model, n_samples=2000, stopping=Stopping(tolerance=0.1))(text)
    assert early.fit.n_queries < full.fit.n_queries / 2
    assert early.method["tolerance"] == 0.1
    assert early.scores == pytest.approx(full.scores, abs=0.3 * float(np.linalg.norm(full.scores)))


@pytest.mark.parametrize("rule", [Stopping(tolerance=0.1), Stopping(stable_top=3)])
def test_a_rule_that_stops_has_asked_every_round(rule):
    """Three words say the same, which shows once two of them are masked; fair coins are precise, but hide it."""
    probe = FunctionProbe(lambda c: 2 * c[:, :3].max(axis=1) + c[:, 3:] @ np.linspace(-0.1, 0.1, 27), 30)

    def gamma(stopping, n_samples=4000, name="mase"):
        method = resolve(name, link="logit", n_samples=n_samples)
        found = measure(probe, method, 0, np.random.default_rng(0), stopping=stopping)
        return found.estimate.gamma[:3].mean(), found.problem

    (wanted, _), (fair_coins, _) = gamma(NEVER, 1000), gamma(NEVER, 1000, "mase-mask")
    early, problem = gamma(rule)
    assert problem.n < 1000
    assert problem.n >= 350 + 2 * 30  # as many as a text of so many words gets by default
    fair = (problem.components.rates == 0.5).all(axis=1)
    assert problem.components.shares[fair].sum() == pytest.approx(problem.n / 8, abs=1.5)
    assert abs(early - wanted) < 0.6 * abs(fair_coins - wanted)


def test_scores_without_errors_never_end_a_search_for_the_top():
    unknown = Estimate(np.array([3.0, 1.0]), np.full((2, 2), np.nan), 2.0)
    assert not Stopping(stable_top=2).enough(unknown)
    assert [note.code for note in Stopping(stable_top=2).notes(unknown)] == ["top-unstable"]
    known = Estimate(np.array([3.0, 1.0]), np.eye(2), 2.0)
    assert Stopping(stable_top=2).enough(known)
    assert not Stopping(stable_top=2).enough(replace(known, fallback="ridge regression was used"))
