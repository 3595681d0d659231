"""Tests of the tasks that wait for workers."""

from collections import deque

import pytest

from mase.errors import WorkerError
from mase_corpora.engines import QUEUED, Pool, Task


class Worker:
    """A worker that never finishes a task."""

    def __init__(self, *, is_ready=True):
        self.tasks, self.is_ready = deque(), is_ready

    def give(self, task):
        self.tasks.append(task)


def numbers(worker):
    return [task.number for task in worker.tasks]


def test_tasks_wait_for_workers_that_are_ready():
    pool, late = Pool("workers"), Worker(is_ready=False)
    pool.workers = [Worker(), Worker(), late]
    assert pool.free == 2 * QUEUED
    for number in range(2 * QUEUED + 1):
        pool.submit(Task(number, ()))
    assert [numbers(worker) for worker in pool.workers] == [[0, 2], [1, 3], []]
    assert pool.free == -1
    late.is_ready = True
    pool.assign()
    assert numbers(late) == [4]
    assert pool.free == 1


def test_tasks_of_a_lost_worker_come_first_and_in_order():
    pool = Pool("workers")
    pool.submit(Task(9, ()))
    pool.return_first(deque([Task(1, ()), Task(2, ())]))
    pool.workers = [Worker(), Worker()]
    pool.assign()
    assert [numbers(worker) for worker in pool.workers] == [[1, 9], [2]]


@pytest.mark.parametrize(("n_workers", "most"), [(2, 10), (8, 16)])
def test_workers_that_end_one_after_another_end_the_run(n_workers, most):
    pool = Pool("workers")
    for _ in range(2):
        pool.count_start()
        for _ in range(most - 1):
            pool.count_failed_start(n_workers, lambda: "killed")
    with pytest.raises(WorkerError, match=rf"{most} workers ended before they had explained a text \(killed\)"):
        pool.count_failed_start(n_workers, lambda: "killed")
