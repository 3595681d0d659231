"""Tests of `mase.procedures.control`: a cheap model lowers the error, and never biases."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import mase
from mase.arrays import Floats
from mase.links import Output
from mase.methods import METHODS
from mase.models import Chat
from mase.pipeline import measure
from mase.rng import generator
from mase.testing.models import FunctionProbe

P, N = 10, 40


def three(c):
    return 2 * c[:, 0] * c[:, 1] * c[:, 2] + 0.3 * c[:, 3]


TRUE = np.array([0.5, 0.5, 0.5, 0.3] + [0.0] * 6)

PROXIES = {
    "good": lambda c: 1.8 * c[:, 0] * c[:, 1] * c[:, 2],
    "useless": lambda c: c[:, 7] * c[:, 8] * c[:, 9],
    "misleading": lambda c: -3 * c[:, 0] * c[:, 1] * c[:, 2] + 5 * c[:, 6] + c[:, 4] * c[:, 5] * c[:, 6],
    "constant": lambda c: np.zeros(len(c)),
}


@dataclass(frozen=True)
class Beside(FunctionProbe):
    """A probe of one value with a cheap model beside it."""

    varies: bool = True
    answers_only = True
    cheap: str | None = None
    output: Output = Output("values")  # noqa: RUF009 (frozen)

    @property
    def has_control(self) -> bool:
        return self.cheap is not None

    def scores(self, coordinates, rows) -> Floats:
        return self.function(coordinates)[:, None]

    def control(self, coordinates) -> Floats:
        return PROXIES[self.cheap](coordinates)[:, None]


def estimates(cheap, n_seeds=120):
    """Return the scores and standard errors of many seeds `(n, p)`."""
    method = replace(METHODS["mase-chat"], link="value", n_samples=N)
    found = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(1000 + seed)
        probe = Beside(lambda c, rng=rng: three(c) + 0.05 * rng.standard_normal(len(c)), P, cheap=cheap)
        found.append(measure(probe, method, 0, generator(seed, "text")).estimate)
    return np.array([one.gamma for one in found]), np.sqrt([one.variances for one in found])


@pytest.fixture(scope="module")
def without():
    return estimates(None)


@pytest.mark.parametrize("cheap", PROXIES)
def test_scores_are_unbiased_and_intervals_cover(cheap, without):
    scores, errors = estimates(cheap)
    bias = np.abs(scores.mean(axis=0) - TRUE) / (scores.std(axis=0) / np.sqrt(len(scores)))
    assert bias.max() < 4
    assert 0.90 <= (np.abs(scores - TRUE) <= 1.96 * errors).mean() <= 0.998
    assert errors.mean() <= 1.1 * without[1].mean()


def test_a_good_one_lowers_the_error_and_a_useless_one_hardly_raises_it(without):
    spread = {cheap: np.sqrt(np.square(estimates(cheap)[0] - TRUE).mean()) for cheap in ("good", "useless")}
    alone = np.sqrt(np.square(without[0] - TRUE).mean())
    assert spread["good"] < 0.5 * alone
    assert spread["useless"] < 1.1 * alone


def test_a_chat_model_may_have_a_cheap_one_beside_it():
    def needs(messages):
        text = messages[0]["content"]
        return "yes indeed" if all(f"part{i} " in text for i in (0, 1, 2)) else "no"

    context = " ".join(f"part{i} is here." for i in range(9))
    dear, cheap = Chat(needs, varies=False), Chat(needs, name="cheap", varies=False)
    alone = mase.cite(Chat(needs, varies=False), context=context, n_samples=60)
    found = mase.cite(dear, context=context, n_samples=60, proxy=cheap)
    assert dear.n_sent <= 60 < cheap.n_sent
    assert found.standard_errors.mean() < 0.7 * alone.standard_errors.mean()
    assert set(found.order[:3].tolist()) == {0, 1, 2}
