"""Tests of `mase.solve.kernel`."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
from tests.forks import forked, held
from threadpoolctl import threadpool_info, threadpool_limits

from mase.estimators.linear import LeastSquares
from mase.methods import resolve
from mase.pipeline import measure
from mase.solve.kernel import decomposed, one_thread
from mase.solve.problem import Estimator
from mase.testing import linear


def fails(*_args, **_settings):
    raise np.linalg.LinAlgError("SVD did not converge")


@pytest.mark.parametrize("converges", [True, False])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 4)])
def test_a_matrix_is_the_product_of_its_parts(monkeypatch, converges, whole, shape):
    matrix = np.random.default_rng(0).standard_normal(shape)
    if not converges:
        monkeypatch.setattr(np.linalg, "svd", fails)
    u, s, vt = decomposed(matrix, whole=whole)
    assert (u.shape, vt.shape) == (
        ((shape[0], shape[0]), (shape[1], shape[1])) if whole else ((shape[0], len(s)), (len(s), shape[1]))
    )
    assert u[:, : len(s)] * s @ vt[: len(s)] == pytest.approx(matrix)
    assert u.T @ u == pytest.approx(np.eye(u.shape[1]), abs=1e-12)
    assert vt @ vt.T == pytest.approx(np.eye(len(vt)), abs=1e-12)


@dataclass(frozen=True)
class Watching(Estimator):
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


@pytest.mark.usefixtures("two_threads")
def test_every_thread_that_enters_has_one_thread_also_while_others_that_entered_before_it_live():
    inside = one_thread(threads)
    assert inside() == 1
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert [pool.submit(inside).result() for pool in (first, second, first)] == [1, 1, 1]
        assert [pool.submit(threads).result() for pool in (first, second)] == [2, 2]
    assert threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_the_last_to_leave_restores_the_threads_although_another_thread_entered_first():
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as last:
        first.submit(one_thread.__enter__).result()
        last.submit(one_thread.__enter__).result()
        first.submit(one_thread.__exit__).result()
        assert last.submit(threads).result() == 1
        last.submit(one_thread.__exit__).result()
        assert [pool.submit(threads).result() for pool in (first, last)] == [2, 2]
    assert threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_others_may_set_the_threads_after_an_explanation_in_another_thread():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(one_thread(threads)).result()
        with threadpool_limits(1, user_api="blas"):
            assert threads() == 1
        assert threads() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.usefixtures("two_threads")
def test_a_fork_does_not_wait_for_the_threads_of_its_parent():
    with held(one_thread):
        assert forked(lambda: (threads(), one_thread(threads)(), threads()) == (2, 1, 2))
    with one_thread, held(one_thread):
        assert forked(lambda: (threads(), one_thread.__exit__(), threads()) == (1, None, 2))
    with one_thread, one_thread, held(one_thread):
        leave = one_thread.__exit__
        assert forked(lambda: [leave() or threads() for _ in range(2)] == [1, 2])
    assert threads() == 2
