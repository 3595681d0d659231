"""Tests of `mase_corpora.engines.local`."""

from queue import SimpleQueue

from tests.corpora.runs import opened

from mase.errors import ModelError, TextTimeoutError
from mase.models.origin import dumps
from mase.sources.rows import Item
from mase_corpora.engines import Task
from mase_corpora.engines.local import Process
from mase_corpora.worker import Recipe


def test_the_text_of_a_death_is_known_although_the_driver_is_slow():
    """The driver handles the end of the first task after the worker has begun the second one."""
    inbox = SimpleQueue()
    recipe = Recipe(opened, timeout=3.0)
    worker = Process("1", dumps(recipe), inbox)
    for row, text in enumerate(("a good film", "this one hangs")):
        worker.give(Task(row, [Item(row, str(row), text)]))
    while inbox.get(timeout=240.0)[1] is not None:
        pass
    worker.done()
    found = worker.death(timeout=3.0)
    assert (found.task, found.row, type(found.error)) == (1, 1, TextTimeoutError)


def test_a_worker_that_ended_itself_is_no_timeout_however_late_the_driver_is():
    inbox = SimpleQueue()
    worker = Process("1", dumps(Recipe(opened, timeout=30.0)), inbox)
    worker.give(Task(0, [Item(0, "0", "this one exits")]))
    while inbox.get(timeout=240.0)[1] is not None:
        pass
    assert "exit code 3" in str(worker.death(timeout=1e-9).error)


def hashed():
    raise ModelError(f"{hash('a word')}")


def test_strings_have_the_same_hashes_in_all_workers():
    inboxes = [SimpleQueue(), SimpleQueue()]
    workers = [Process("1", dumps(Recipe(hashed)), inbox) for inbox in inboxes]
    first, second = (inbox.get(timeout=240.0)[1] for inbox in inboxes)
    for worker in workers:
        worker.end(1.0)
    assert first == second
