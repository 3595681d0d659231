"""Tests of `mase.regression.together`: several classes from the same evaluations."""

import numpy as np
import pytest

from mase.links import Contrast, Output, respond
from mase.measure import measure
from mase.methods import resolve
from mase.regression.stopping import Stopping
from mase.testing import FunctionProbe

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
    """Return least squares with a constant for each law, each row as often as its weight says."""
    sample = answered.sample
    roots = np.sqrt(sample.weights)
    table = np.column_stack([sample.deviations, sample.laws.shares.T]) * roots[:, None]
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


def test_without_other_classes_nothing_changes():
    found = measure(three(), resolve("mase"), 0, np.random.default_rng(0))
    assert (found.others, found.leads) == ((), False)


def test_what_is_floored_is_counted_for_each_class():
    probe = Zeros(lambda c: c[:, 0], P, output=Output("probabilities", multilabel=True))
    found = measure(probe, resolve("mase-mask", link="log-probability"), 0, np.random.default_rng(0), others=[1, 2])
    floored = ["floored" in {note.code for note in one.notes} for one in (found, *found.others)]
    assert floored == [False, True, False]


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
