"""Tests of `mase.procedures.screening`: brute force, and coverage on models with known effects."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from mase.errors import BudgetSpentError, OptionError, TooFewSamplesError
from mase.links import Output
from mase.methods import METHODS
from mase.pipeline import measure
from mase.procedures.screening import Screening
from mase.rng import generator
from mase.solve.strategy import Stopping
from mase.testing.models import FunctionProbe


@dataclass(frozen=True)
class Answers(FunctionProbe):
    """A probe of one value, of which it is known whether answers vary."""

    varies: bool | None = False
    answers_only = True
    output: Output = Output("values")  # noqa: RUF009 (frozen)

    def scores(self, coordinates, rows):
        self.batches.append(len(rows))
        return self.function(coordinates)[:, None]


def solved(function, p, n, seed=0, *, varies=False, batch_size=64, **stopping):
    method = replace(METHODS["mase-chat"], link="value", n_samples=n)
    probe = Answers(function, p, varies=varies, batch_size=batch_size)
    return measure(probe, method, 0, generator(seed, "text"), stopping=Stopping(**stopping))


def effects(function, p):
    """Return the mean change with each part, over all subsets of the others."""
    rows = np.array(list(product([0.0, 1.0], repeat=p)))
    values = function(rows)
    return np.array([values[rows[:, i] == 1].mean() - values[rows[:, i] == 0].mean() for i in range(p)])


def either(c):
    return np.maximum(c[:, 0], c[:, 1])


def three(c):
    return c[:, 0] * c[:, 1] * c[:, 2]


def mixed(c):
    return 0.2 + 0.4 * c[:, 0] + 0.2 * c[:, 1] + 0.1 * c[:, 2] * c[:, 3]


@pytest.mark.parametrize("function", [either, three, mixed])
@pytest.mark.parametrize("p", [4, 5])
def test_all_subsets_of_few_parts_are_exact(function, p):
    found = solved(function, p, 2**p)
    assert found.estimate.gamma == pytest.approx(effects(function, p))
    assert found.exact
    assert not found.estimate.variances.any()
    assert found.cost.n_queries == 2**p  # the text itself among them


def test_a_model_that_is_said_to_be_exact_is_not_asked_twice_and_others_are():
    for varies, n_more in ((False, 0), (None, 4)):
        found = solved(either, 4, 40, varies=varies)
        assert (found.exact, found.cost.n_queries) == (True, 16 + n_more)


def test_noise_that_was_not_said_is_seen_and_measured():
    found = solved(noisy(either, "similarity", 0), 4, 40, varies=None)
    assert not found.exact
    assert found.cost.n_queries == 41
    assert 0.01 < np.sqrt(found.estimate.variances).max() < 0.1
    assert "not-deterministic" in [note.code for note in found.notes]


def test_a_single_part_takes_one_request():
    found = solved(lambda c: c[:, 0], 1, 10)
    assert (found.estimate.gamma.tolist(), found.cost.n_queries) == ([1.0], 2)


@pytest.mark.parametrize("p", [6, 9, 17, 33, 60])
def test_a_single_source_is_exact_from_few_requests(p):
    for seed in range(10):
        found = solved(lambda c: c[:, p - 2], p, 40, seed)
        assert found.estimate.gamma.argmax() == p - 2
        assert found.estimate.gamma[p - 2] == pytest.approx(1.0)
        assert found.cost.n_queries <= 41


def test_pairs_that_act_together_cancel():
    found = solved(lambda c: c[:, 0] * c[:, 1], 12, 40)
    assert found.estimate.gamma == pytest.approx(np.array([0.5, 0.5] + [0.0] * 10))


def test_a_stopping_rule_ends_early_but_not_by_chance():
    found = [solved(lambda c: c[:, 3], 32, 128, seed, stable_top=1) for seed in range(30)]
    assert {one.estimate.gamma.argmax() for one in found} == {3}
    assert max(one.cost.n_queries for one in found) <= 40
    nothing = solved(lambda c: np.random.default_rng(0).random(len(c)), 32, 128, varies=True, stable_top=1)
    assert nothing.cost.n_queries > 100


def test_rows_of_pairs_are_complementary_and_in_the_budget():
    for budget in (7, 20, 33):
        seen = []

        def function(c, seen=seen):
            seen.append(c)
            return c[:, 0]

        found = solved(function, 10, budget)
        rows = np.concatenate(seen)[1:]  # after the text
        assert (rows[0::2] + rows[1::2] == 1).all()
        assert len(rows) == budget - budget % 2 == found.cost.n_queries - 1


def test_nothing_that_matters_is_told():
    for p in (3, 12):
        found = solved(lambda c: np.ones(len(c)), p, 30)
        assert not found.estimate.gamma.any()
        assert "constant" in [note.code for note in found.notes]


def noisy(function, kind, seed):
    rng = np.random.default_rng(seed)

    def bernoulli(c):
        return (rng.random(len(c)) < 0.05 + 0.9 * function(c)).astype(float)

    def similarity(c):
        return 0.2 + 0.6 * function(c) + 0.1 * rng.standard_normal(len(c))

    return {"bernoulli": bernoulli, "similarity": similarity}[kind]


SCALE = {"free": 1.0, "bernoulli": 0.9, "similarity": 0.6}


def coverage(kind, functions, sizes, n_seeds=60):
    covered = []
    for function, (p, n) in product(functions, sizes):
        truth = SCALE[kind] * (effects(function, 6) if p > 6 else effects(function, p))
        truth = np.concatenate([truth, np.zeros(max(0, p - 6))])
        for seed in range(n_seeds):
            model = function if kind == "free" else noisy(function, kind, 100 + seed)
            estimate = solved(model, p, n, seed, varies=kind != "free").estimate
            covered.append(np.abs(estimate.gamma - truth) <= 1.96 * np.sqrt(estimate.variances) + 1e-9)
    return np.concatenate(covered).mean()


@pytest.mark.parametrize("kind", ["bernoulli", "similarity"])
@pytest.mark.parametrize("sizes", [[(4, 33)], [(8, 40)], [(16, 48)], [(30, 64)]], ids=str)
def test_intervals_cover_the_noise_of_answers(kind, sizes):
    assert 0.90 <= coverage(kind, [either, three, mixed], sizes) <= 0.985


def test_intervals_cover_steps_without_noise():
    assert coverage("free", [either, three, mixed], [(8, 40), (16, 48), (30, 64)]) >= 0.93
    assert coverage("free", [either, three, mixed], [(4, 33)], 5) == 1.0


def test_money_that_is_spent_ends_it_honestly():
    left = [27]

    def function(c):
        left[0] -= len(c)
        if left[0] < 0:
            raise BudgetSpentError("all is spent")
        return c[:, 1]

    found = solved(function, 10, 60, batch_size=8)
    assert found.estimate.gamma.argmax() == 1
    assert "budget-spent" in [note.code for note in found.notes]
    assert found.estimate.variances.min() > 0
    left[0] = 5
    with pytest.raises(BudgetSpentError):
        solved(function, 10, 60, batch_size=8)


def test_options_are_checked():
    for options in ({"share": 0}, {"level": 1.0}):
        with pytest.raises(OptionError):
            Screening(**options)
    with pytest.raises(TooFewSamplesError):
        Screening().run(None, 1, np.random.default_rng(0), Stopping())
