"""Tests of `mase.solve.problem`."""

import numpy as np
import pytest

from mase.designs.adaptive import CloseUp, Focused
from mase.designs.masking import Bernoulli
from mase.methods import resolve
from mase.pipeline import measure
from mase.solve.problem import cycle
from mase.solve.strategy import Stopping
from mase.testing import linear


def test_rounds_are_of_equal_size_unless_a_design_has_shares():
    assert Focused(rounds=3).ends(100) == [34, 68, 102]
    assert Bernoulli().ends(100) == [100]
    assert CloseUp(share=0.3).ends(101) == [71, 101]
    for design in (Focused(), Bernoulli(), CloseUp()):
        assert sum(design.shares) == pytest.approx(1)


def test_every_cycle_has_all_rounds():
    assert cycle(CloseUp(), 0, 64) == [48, 64]
    assert cycle(CloseUp(), 64, 104) == [94, 104]
    assert cycle(Focused(rounds=4), 10, 47) == [20, 30, 40, 47]
    assert cycle(Focused(), 10, 13) == [11, 12, 13]


@pytest.mark.parametrize(("stable_top", "early"), [(1, True), (3, False)])
def test_few_evaluations_end_when_the_best_is_certain(stable_top, early):
    scores = np.r_[5.0, np.zeros(11)]
    rule = Stopping(stable_top=stable_top)
    found = measure(linear(scores), resolve("mase-cite", link="logit"), 0, np.random.default_rng(0), stopping=rule)
    assert (found.problem.n < 40) == early
