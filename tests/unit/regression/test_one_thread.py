"""Tests of `mase.regression.one_thread`."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mase.estimators.least_squares import LeastSquares
from mase.measure import measure
from mase.methods import resolve
from mase.regression.one_thread import one_thread
from mase.testing import linear


@dataclass(frozen=True)
class Watching:
    """Least squares that notes with how many threads it solves."""

    seen: list[int] = field(default_factory=list)
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem):
        self.seen.append(threads())
        return LeastSquares().fit(problem)


def threads():
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != 2:
            pytest.skip("this library for linear algebra has one thread")
        yield


@pytest.mark.usefixtures("two_threads")
def test_estimators_solve_with_one_thread_and_models_answer_with_theirs():
    estimator, asked = Watching(), []
    probe = linear(np.linspace(1, -1, 12))
    watched = replace(probe, function=lambda c: asked.append(threads()) or probe.function(c))
    measure(watched, resolve("mase", link="logit", estimator=estimator, n_samples=200), 0, np.random.default_rng(0))
    assert set(estimator.seen) == {1}
    assert set(asked) == {2}
    assert threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_the_last_to_leave_restores_the_threads():
    @one_thread
    def failing():
        with one_thread:
            assert threads() == 1
        assert threads() == 1
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        failing()
    assert threads() == 2
