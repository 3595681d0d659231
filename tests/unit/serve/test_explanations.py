"""Tests of `mase.serve.explanations`: an explanation ends some time after the last of its followers has left."""

import asyncio
import gc
from selectors import DefaultSelector
from weakref import ReferenceType

import pytest

pytest.importorskip("starlette")

from mase.serve.explanations import Explanations
from mase.serve.jobs import Job
from mase.serve.limits import Limits
from mase.serve.messages import Explain, Explained, Open, Settings

ALONE = 0.2


class Clock(DefaultSelector):
    """A selector that takes no time, by whose clock all waiting is as long as it should be."""

    now = 0.0

    def select(self, timeout=None):
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


def punctual():
    """Return a loop of events of which no timer is late, however busy the machine is."""
    clock = Clock()
    loop = asyncio.SelectorEventLoop(clock)
    loop.time = lambda: clock.now
    return loop


class Endless:
    """A model that answers nothing until it is told to stop."""

    name = "endless"

    def submit(self, ask, tell):
        return Job(1, ask, tell)

    async def cancel(self, job):
        job.cancel()


def followed(test):
    """Run a test with an explanation that does not end, and a function that follows it."""

    async def run():
        explanations = Explanations(Limits(alone=ALONE))
        found = explanations[explanations.begin(Endless(), Explain("a text", None, Settings()))]

        async def names():
            return [event.name async for event in explanations.follow(found, 60.0)]

        async def follow():
            task = asyncio.create_task(names())
            await asyncio.sleep(0)
            return task

        return await asyncio.wait_for(test(found, follow), 10)

    with asyncio.Runner(loop_factory=punctual) as runner:
        return runner.run(run())


async def leave(task):
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_an_explanation_that_nobody_follows_any_more_is_cancelled():
    async def test(found, follow):
        first, second = await follow(), await follow()
        await leave(first)
        await asyncio.sleep(2 * ALONE)
        one_is_left = found.is_over
        await leave(second)
        await asyncio.sleep(ALONE / 4)
        at_once = found.is_over
        await asyncio.sleep(2 * ALONE)
        return one_is_left, at_once, found.is_over, await (await follow())

    assert followed(test) == (False, False, True, ["cancelled"])


class Prompt:
    """A model that answers at once."""

    name, answers, opened_by = "prompt", False, Open("prompt")

    def submit(self, ask, tell):
        job = Job(1, ask, tell)
        job.take(Explained(1, "x" * 1000, "{}"))
        return job


@pytest.mark.parametrize(("limits", "n"), [({"results": 3}, 3), ({"kept": 1500}, 2), ({"kept": 1}, 1)])
def test_what_is_forgotten_leaves_the_memory_at_once(limits, n):
    async def test():
        explanations, made = Explanations(Limits(**limits)), []
        for _ in range(6):
            name = explanations.begin(Prompt(), Explain("a text", None, Settings()))
            made.append(ReferenceType(explanations[name]))
            await asyncio.sleep(0.01)
        return [found() is not None for found in made]

    gc.disable()
    try:
        alive = asyncio.run(test())
    finally:
        gc.enable()
    assert alive == [False] * (6 - n) + [True] * n


def test_a_page_that_connects_again_keeps_its_explanation():
    async def test(found, follow):
        for _ in range(4):  # each time for less than the limit
            await leave(await follow())
            await asyncio.sleep(ALONE / 2)
        task = await follow()
        await asyncio.sleep(2 * ALONE)
        over = found.is_over
        await leave(task)
        return over

    assert followed(test) is False
