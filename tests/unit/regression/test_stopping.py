"""Tests of `mase.regression.stopping`."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import mase
from mase.errors import OptionError
from mase.measure import measure
from mase.methods import resolve
from mase.regression.estimate import Estimate
from mase.regression.stopping import NEVER, Stopping, relative_error, top_margin
from mase.testing import FunctionProbe, linear, smooth


def run(probe, stopping, seed=0, **options):
    method = resolve("mase-nlgp", link="logit", **({"n_samples": 40_000, "sigma": 0.3} | options))
    return measure(probe, method, 0, np.random.default_rng(seed), stopping=stopping)


@cache
def true_coefficients(seed):
    """Return the coefficients of `smooth(15, seed)`, to a few parts in a thousand."""
    return run(smooth(15, seed=seed), Stopping(), n_samples=100_000, design="antithetic").estimate.gamma


@pytest.mark.parametrize("tolerance", [0.2, 0.05, 0.02])
@pytest.mark.parametrize("design", ["orthogonal", "iid"])
def test_reached_error_is_the_one_asked_for(tolerance, design):
    """The stated error is met and not overshot by much; the true error agrees with it on average."""
    probe, truth = smooth(15), true_coefficients(0)
    stated, actual, cost = [], [], []
    for seed in range(12):
        found = run(probe, Stopping(tolerance=tolerance), seed, design=design)
        stated.append(relative_error(found.estimate))
        actual.append(np.linalg.norm(found.estimate.gamma - truth) / np.linalg.norm(truth))
        cost.append(found.cost.n_queries)
    assert max(stated) <= tolerance
    assert np.sqrt(np.mean(np.square(actual))) < 1.1 * tolerance
    if max(cost) > 200:  # beyond the first round
        assert np.mean(stated) > 0.8 * tolerance
    assert max(cost) < 40_000


def test_a_linear_model_needs_one_round():
    found = run(linear(np.arange(1.0, 11)), Stopping(tolerance=0.01))
    assert found.cost.n_queries == 3 + 2 * 2 * (10 + 3)
    assert not found.notes  # such as few-samples, as a rule ended the run and not n_samples


@pytest.mark.parametrize("method", ["mase-mask", "context-cite", "lime-paper"])
def test_rows_that_were_all_answered_alike_do_not_meet_a_tolerance(method):
    """Five words of twelve must be kept: of the first rows, hardly any has them all."""
    probe = FunctionProbe(lambda kept: 1.0 * (kept[:, :5] > 0.5).all(axis=1), 12)
    for seed in range(6):
        tolerant = resolve(method, link="logit", n_samples=1000)
        found = measure(probe, tolerant, 0, np.random.default_rng(seed), stopping=Stopping(tolerance=0.1))
        assert found.estimate.gamma[:5].min() > 0


def test_a_constant_is_not_said_to_miss_a_tolerance():
    found = run(FunctionProbe(lambda kept: np.ones(len(kept)), 12), Stopping(tolerance=0.1), n_samples=200)
    assert {note.code for note in found.notes} == {"constant"}


def test_stable_top_is_the_true_top():
    probe, truth = smooth(15, seed=2), true_coefficients(2)
    hits = 0
    for seed in range(20):
        found = run(probe, Stopping(stable_top=3), seed)
        hits += set(np.argsort(-found.estimate.gamma)[:3]) == set(np.argsort(-truth)[:3])
        assert not found.notes or "top-unstable" not in {note.code for note in found.notes}
    assert hits >= 19


def test_budget_that_ends_too_soon_is_remarked():
    found = run(smooth(15), Stopping(tolerance=1e-4, stable_top=7), n_samples=100)
    assert found.cost.n_queries == 103
    codes = {note.code for note in found.notes}
    assert "tolerance-missed" in codes


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
    early = mase.Explainer(lstm_model, n_samples=2000, tolerance=0.1)(text)
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
    fair = (problem.laws.rates == 0.5).all(axis=1)
    assert problem.laws.shares[fair].sum() == pytest.approx(problem.n / 8, abs=1.5)
    assert abs(early - wanted) < 0.6 * abs(fair_coins - wanted)


def test_scores_without_errors_never_end_a_search_for_the_top():
    unknown = Estimate(np.array([3.0, 1.0]), np.full((2, 2), np.nan), 2.0)
    assert not Stopping(stable_top=2).enough(unknown)
    assert [note.code for note in Stopping(stable_top=2).notes(unknown)] == ["top-unstable"]
    known = Estimate(np.array([3.0, 1.0]), np.eye(2), 2.0)
    assert Stopping(stable_top=2).enough(known)
    assert not Stopping(stable_top=2).enough(replace(known, fallback="ridge regression was used"))
