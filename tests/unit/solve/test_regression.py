"""Tests of `mase.solve.regression`."""

from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from tests.regressions import run

import mase
from mase import Explainer
from mase.errors import OptionError, ShapeError
from mase.estimators import ESTIMATORS
from mase.estimators.linear import LeastSquares
from mase.links import Contrast, Output
from mase.methods import METHODS, Method, resolve
from mase.pipeline import measure
from mase.responses import respond
from mase.solve.oracle import AUTO_QUERY, Oracle
from mase.solve.problem import Estimate, Estimator
from mase.solve.regression import Regression
from mase.solve.strategy import NEVER, Stopping, Strategy
from mase.spaces import SPACES
from mase.testing import AdditiveClassifier, FunctionProbe, smooth

TEXT = "A dull start, but the last hour is wonderful"


KNOWS_THE_TEXT = {name for name in ESTIMATORS if ESTIMATORS.build(name).needs_base}


NEEDS_GRADIENTS = {name for name in ESTIMATORS if ESTIMATORS.build(name).needs_gradients}


@pytest.mark.parametrize("estimator", sorted(set(ESTIMATORS) - KNOWS_THE_TEXT - NEEDS_GRADIENTS))
def test_words_masked_one_at_a_time_do_not_determine_an_intercept(lstm, estimator):
    explainer = mase.Explainer(lstm, method=resolve("mase", design="leave-one-out", estimator=estimator))
    with pytest.raises(OptionError, match="a design of 9 different rows, expected more than 9"):
        explainer(TEXT)


def test_words_masked_one_at_a_time_are_those_of_occlusion_with_its_estimator(lstm):
    found = mase.explain(TEXT, lstm, method="mase+design=leave-one-out+estimator=moment", link="margin")
    assert found.scores.tolist() == mase.explain(TEXT, lstm, method="occlusion", link="margin").scores.tolist()


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"deep-shap"}))
def test_every_method_explains_a_single_word(lstm, name):
    assert len(mase.explain("wonderful", lstm, method=name).scores) == 1


# With so many samples these have the same rows for every seed. Tests of their own compare them with their values.
# Trees are no linear model: they come close to the exact values, but have no errors.
NOT_DRAWN = ("occlusion", "kernel-shap", "leverage-shap", "proxy-spex")


SAMPLED = [
    name
    for name, method in mase.METHODS.items()
    if method.space.binary and isinstance(method.strategy, Regression) and name not in NOT_DRAWN
]


def sampled(probe, name, n_samples, **parts):
    """Return the solution of samples that are drawn although there are so many of them."""
    moving = np.ones(probe.size, dtype=bool)
    oracle = Oracle.of(probe, name, "logit", 0, moving, binary=True, options=AUTO_QUERY).again(remember=False)
    return resolve(name, **parts).strategy.run(oracle, n_samples, np.random.default_rng(0), NEVER)


def every_subset(p):
    return np.array(list(product([0.0, 1.0], repeat=p)))


def test_there_are_methods_to_test():
    assert {"mase", "mase-mask", "lime", "lime-paper"} <= set(SAMPLED)


@pytest.mark.parametrize("method", SAMPLED)
@pytest.mark.slow
def test_exact_scores_are_those_of_very_many_samples(method):
    exact = run(smooth(8, seed=4), method, n_samples=256)
    assert exact.exact
    assert 256 < exact.cost.n_queries <= 256 + 5  # each subset once, and some again, to compare
    assert not exact.estimate.variances.any()
    assert (exact.split_half, exact.estimate.fallback) == (None, None)
    knows_equal_rows = {"mase": 20_000, "mase-rationale": 20_000, "mase-cite": 2_000}
    many = sampled(smooth(8, seed=4), method, knows_equal_rows.get(method, 100_000))
    errors = np.sqrt(many.estimate.variances)
    assert errors.max() < 0.02
    assert np.abs(many.estimate.gamma - exact.estimate.gamma).max() < 4 * errors.max()
    # That of `mase` is of the rows as they were drawn, and not of those that scores stand for.
    assert many.r2 == pytest.approx(exact.r2, abs=0.03 if method in {"mase", "mase-rationale"} else 0.02)


@pytest.mark.parametrize("estimator", ["ridge", "sparse(tol='auto')", "lasso", "moment", "fixed-ridge"])
def test_estimators_take_all_subsets_as_a_sample_without_end(estimator):
    exact = run(smooth(6, seed=1), "mase-mask", n_samples=64, estimator=estimator)
    many = sampled(smooth(6, seed=1), "mase-mask", 60_000, estimator=estimator)
    assert exact.exact
    assert many.estimate.gamma == pytest.approx(exact.estimate.gamma, abs=0.03)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("method", ["mase", "mase-mask", "lime-paper", "kernel-shap"])
def test_a_text_of_few_words_is_explained_exactly(method, p):
    truth = np.array([1.5, -1.0, 0.25])[:p]
    found = run(FunctionProbe(lambda c: 0.3 + c @ truth, p), method, n_samples=1000)
    if method != "lime-paper":  # its bound on the norm halves the scores
        assert found.estimate.gamma == pytest.approx(truth, abs=1e-9)
    assert found.exact
    assert 2**p < found.cost.n_queries <= 2**p + 4
    assert {note.code for note in found.notes} <= {"constant"}


@pytest.mark.parametrize("design", ["bernoulli", "shapley", "leverage", "hadamard", "close-up", "focused"])
@pytest.mark.parametrize("estimator", ["least-squares", "ridge", "lasso", "penalised-lasso", "kernel-ridge"])
def test_a_single_word_has_the_effect_that_it_has(design, estimator):
    found = run(FunctionProbe(lambda c: 0.3 + 1.5 * c[:, 0], 1), "mase-mask", design=design, estimator=estimator)
    assert found.estimate.gamma == pytest.approx([1.5], abs=0.76)  # bounds and penalties halve it
    assert np.isfinite(found.estimate.gamma).all()


def test_rounds_are_mixed_with_the_mask_rates_of_exact_scores():
    """A score is the mean effect of a word in each component of the rows, weighted by the variance there."""
    probe, rows = smooth(4, seed=2), every_subset(4)
    y, components = probe.function(rows), [(0.5, np.full(4, 0.5)), (0.5, np.full(4, 0.9))]
    above = below = 0.0
    for _ in range(3):
        for share, out in components:
            chance = np.prod(np.where(rows == 1, 1 - out, out), axis=1)
            effects = np.array([chance @ (y * (rows[:, word] - 1 + out[word])) for word in range(4)])
            above, below = above + share * effects, below + share * out * (1 - out)
        gamma = above / below
        rank = np.argsort(np.argsort(-gamma))
        out = 0.1 + 0.8 / (1 + np.exp((rank - 4 / 3) / 2))
        components = [(0.75, out), (0.25, 1 - out)]
    found = run(probe, "mase", n_samples=16, design="focused(rounds=3)", estimator="least-squares")
    assert found.estimate.gamma == pytest.approx(gamma, abs=1e-12)


@pytest.mark.parametrize(("effect", "shares"), [("removed", (0.1, 0.3, 0.6, 0.0)), ("kept", (0.1, 0.0, 0.3, 0.6))])
def test_exact_scores_are_those_of_the_laws_that_they_aim_at(effect, shares):
    """Equal mask rates come first, and each step ranks the scores under the mean of the rates that followed."""
    probe, rows = smooth(6, seed=2), every_subset(6)
    y, estimate = probe.function(rows), run(probe, "mase", n_samples=64).estimate
    found = estimate.gamma if effect == "removed" else estimate.other_effects[effect].gamma
    by_rank = 0.1 + 0.8 / (1 + np.exp((np.arange(6) - 2) / 2))
    out = np.full(6, by_rank.mean())
    for step in range(1, 6):
        above = below = 0.0
        for share, masked in zip(shares, [np.full(6, 0.5), np.full(6, 0.9), out, 1 - out], strict=True):
            chance = np.prod(np.where(rows == 1, 1 - masked, masked), axis=1)
            effects = np.array([chance @ (y * (rows[:, word] - 1 + masked[word])) for word in range(6)])
            above, below = above + share * effects, below + share * masked * (1 - masked)
        scores = above / below
        out = ((step - 1) * out + by_rank[np.argsort(np.argsort(-scores))]) / step
    assert found == pytest.approx(scores, abs=1e-12)


def test_words_that_do_the_same_score_the_same():
    found = run(FunctionProbe(lambda c: np.maximum(c[:, 0], c[:, 2]) + 0.5 * c[:, 1] * c[:, 3], 4), "mase")
    gamma = found.estimate.gamma
    assert gamma[[0, 1]] == pytest.approx(gamma[[2, 3]], abs=1e-12)


def test_a_stopping_rule_asks_for_all_subsets_only_when_it_wants_so_many():
    probe = FunctionProbe(lambda c: c @ np.arange(9.0), 9)
    early = run_stopping(probe, Stopping(tolerance=0.1))
    assert not early.exact
    assert early.cost.n_queries < 300
    late = run_stopping(smooth(9), Stopping(tolerance=1e-9))
    assert late.exact
    assert 2**9 < late.cost.n_queries <= 2**9 + 4
    assert "tolerance-missed" not in {note.code for note in late.notes}


def run_stopping(probe, stopping):
    return measure(probe, resolve("mase", link="logit"), 0, np.random.default_rng(0), stopping=stopping)


def test_one_subset_more_than_the_samples_is_not_exact():
    assert run(smooth(5), "mase", n_samples=32).exact
    found = run(smooth(5), "mase", n_samples=31)
    assert not found.exact
    assert (found.estimate.variances > 0).all()


def test_words_without_effect_score_exactly_zero():
    found = run(FunctionProbe(lambda c: np.tanh(c[:, 0] - 0.7 * c[:, 3]), 5), "mase-mask", n_samples=32)
    assert found.estimate.gamma[[1, 2, 4]].tolist() == [0.0, 0.0, 0.0]


@dataclass(frozen=True)
class Counting(Estimator):
    """Least squares that counts how often it is asked for what."""

    fits: list[int] = field(default_factory=list)
    plans: list[int] = field(default_factory=list)
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem):
        self.fits.append(problem.n)
        return LeastSquares().fit(problem)

    def rough(self, problem):
        self.plans.append(problem.n)
        return LeastSquares().fit(problem)

    def draft(self, problem):
        return self.rough(problem).gamma


@pytest.mark.parametrize(
    ("design", "plans", "halves"),
    [
        ("focused(rounds=3)", [100, 200], 2),
        ("focused(rounds=3, n_draws=0)", [100, 200], 2),
        ("independent", [], 2),
    ],
)
def test_draws_and_halves_are_rough_and_scores_are_not(design, plans, halves):
    estimator = Counting()
    run(smooth(20), "mase", n_samples=300, design=design, estimator=estimator)
    assert estimator.plans == plans + [150] * halves
    assert estimator.fits.count(300) == 1


@dataclass(frozen=True)
class Fixed(Estimator):
    """An estimator that returns what it is made with."""

    estimate: Estimate
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem):
        return self.estimate


@pytest.mark.parametrize("shapes", [((5,), (5, 5)), ((4,), (5, 5)), ((3,), (3, 3))])
def test_an_estimator_returns_one_coefficient_for_each_coordinate(shapes):
    gamma, covariance = map(np.ones, shapes)
    with pytest.raises(ShapeError, match=r"expected \(4,\)"):
        run(smooth(4, seed=1), "mase-mask", estimator=Fixed(Estimate(gamma, covariance, 1.0)))


def test_what_parts_return_is_checked():
    for value in (None, np.ones(4)):
        with pytest.raises(OptionError, match=r"Fixed\.fit returned a value of type .*, expected an Estimate"):
            run(smooth(4, seed=1), "mase-mask", estimator=Fixed(value))
    with pytest.raises(OptionError, match="a variance of -1, expected none below 0"):
        run(smooth(4, seed=1), "mase-mask", estimator=Fixed(Estimate(np.ones(4), -np.eye(4), 1.0)))


@dataclass(frozen=True)
class Asks(Strategy):
    """A strategy that asks one row of ones, `width` coordinates wide, and returns nothing."""

    width: int

    def run(self, oracle, budget, rng, stopping):
        oracle.responses(np.ones((1, self.width)))


@pytest.mark.parametrize(
    ("width", "error", "match"),
    [
        (3, ShapeError, r"shape \(1, 3\), expected \(n, 4\)"),
        (5, ShapeError, r"shape \(1, 5\), expected \(n, 4\)"),
        (4, OptionError, r"Asks\.run returned a value of type NoneType, expected a Solution"),
    ],
)
def test_what_strategies_ask_and_return_is_checked(width, error, match):
    method = Method("asks", "One row.", SPACES["token-mask"](), Asks(width), n_samples=32)
    with pytest.raises(error, match=match):
        Explainer(AdditiveClassifier({"good": 0.25}), method=method)("a good film here")


P = 16


_RNG = np.random.default_rng(5)


INNER, OUTER = _RNG.standard_normal((P, 6)) / 4, _RNG.standard_normal((6, 3))


class Three(FunctionProbe):
    """Logits of three classes: sums of tanh of random projections."""

    def scores(self, coordinates, rows):
        self.batches.append(len(rows))
        return np.tanh(3 * coordinates @ INNER[: self.size]) @ OUTER


class Zeros(FunctionProbe):
    """Probabilities of three labels, of which the second is 0 without the first word."""

    def scores(self, coordinates, rows):
        return np.stack([0.5 + 0.1 * coordinates[:, 2], 0.5 * coordinates[:, 0], 0.2 + 0.1 * coordinates[:, 1]], axis=1)


def three():
    return Three(lambda c: c[:, 0], P)


def by_hand(answered, responses):
    """Return least squares with a constant for each component, each row as often as its weight says."""
    sample = answered.sample
    roots = np.sqrt(sample.weights)
    table = np.column_stack([sample.deviations, sample.components.shares.T]) * roots[:, None]
    return np.linalg.lstsq(table, responses * roots, rcond=None)[0][: sample.deviations.shape[1]]


@pytest.mark.parametrize("link", ["margin", "probability", Contrast("margin", 0)])
@pytest.mark.parametrize("estimator", ["kernel-ridge", "least-squares"])
def test_every_class_is_the_single_solve_of_the_rows_of_the_leading_one(link, estimator):
    probe, method = three(), resolve("mase", n_samples=300, estimator=estimator)
    alone = measure(three(), method, 2, np.random.default_rng(1), link=link)
    found = measure(probe, method, 2, np.random.default_rng(1), others=[1], link=link)
    assert np.array_equal(found.estimate.gamma, alone.estimate.gamma)
    assert found.cost.n_queries == alone.cost.n_queries
    (other,) = found.others
    assert len(other.answered.scores) == 300
    responses = respond(other.answered.scores, probe.output, link, 1)
    if estimator == "least-squares":
        assert other.estimate.gamma == pytest.approx(by_hand(other.answered, responses), abs=1e-10)
    assert other.response == respond(probe.start, probe.output, link, 1)[0]
    again = method.strategy.estimator.fit(other.answered.sample.problem(responses, None))
    assert np.array_equal(other.estimate.gamma, again.gamma)
    assert np.sqrt(other.estimate.variances) == pytest.approx(np.sqrt(again.variances), abs=1e-10)


@pytest.mark.parametrize(
    ("method", "stopping", "leads"),
    [
        (resolve("mase"), Stopping(), True),
        (resolve("mase-mask"), Stopping(), False),
        (resolve("mase-mask"), Stopping(tolerance=0.3), True),
        (resolve("occlusion"), Stopping(), False),
    ],
)
def test_a_class_leads_where_it_decides_the_rows(method, stopping, leads):
    found = measure(three(), method, 0, np.random.default_rng(0), stopping=stopping, others=[1, 2])
    assert found.leads is leads
    assert len(found.others) == 2


def test_a_strategy_that_chooses_rows_for_each_class_is_counted_and_says_so():
    alone = [measure(three(), resolve("partition-shap", n_samples=20), k, np.random.default_rng(0)) for k in (0, 1)]
    found = measure(three(), resolve("partition-shap", n_samples=20), 0, np.random.default_rng(0), others=[1])
    assert np.array_equal(found.others[0].estimate.gamma, alone[1].estimate.gamma)
    assert alone[0].cost.n_queries < found.cost.n_queries <= sum(one.cost.n_queries for one in alone)
    assert all("separately" in {note.code for note in one.notes} for one in (found, *found.others))


@pytest.mark.parametrize(("method", "p", "reused"), [
    ("mase", 4, False), ("mase", 12, True), ("lime", 4, True), ("lime", 12, True),
])  # fmt: skip
def test_answers_are_reused_for_other_classes_unless_rounds_weight_all_rows_anew(method, p, reused):
    found = run(smooth(p), method, n_samples=200)
    assert (found.exact, found.answered is not None) == (p == 4, reused)


def test_without_other_classes_nothing_changes():
    found = measure(three(), resolve("mase"), 0, np.random.default_rng(0))
    assert (found.others, found.leads) == ((), False)


def test_what_is_floored_is_counted_for_each_class():
    probe = Zeros(lambda c: c[:, 0], P, output=Output("probabilities", multilabel=True))
    found = measure(probe, resolve("mase-mask", link="log-probability"), 0, np.random.default_rng(0), others=[1, 2])
    clipped = ["floored" in {note.code for note in one.notes} for one in (found, *found.others)]
    assert clipped == [False, True, False]


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "lime"])
def test_where_all_rows_are_asked_every_class_is_exact_and_none_leads(method):
    few = Three(lambda c: c[:, 0], 5)
    found = measure(few, resolve(method), 0, np.random.default_rng(0), others=[1, 2])
    assert not found.leads
    assert found.cost.n_queries <= 2**5 + 2
    for target, one in ((1, found.others[0]), (2, found.others[1])):
        alone = measure(few, resolve(method), target, np.random.default_rng(3))
        assert one.exact
        assert one.estimate.gamma == pytest.approx(alone.estimate.gamma, abs=1e-12)
