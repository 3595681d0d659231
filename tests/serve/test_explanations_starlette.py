"""Tests of `mase_serve.explanations`: an explanation ends some time after the last of its followers has left."""

import asyncio
import gc
import os
from selectors import DefaultSelector
from types import SimpleNamespace
from weakref import ReferenceType

import pytest
from tests.serve.clients import JUDGE, TEXT

from mase.errors import ModelError, QueueFullError
from mase_serve.explanations import Explanations, ServedModel
from mase_serve.security import Limits
from mase_serve.worker import Cancelled, Explain, Explained, Failed, Job, Open, Predict, Predicted, Settings

pytest.importorskip("starlette")


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


LIMITS = Limits(queue=5, grace=0.3)


SLOW = Explain("a slow text of some words " * 3, None, Settings(n_samples=2000, evidence=0))


QUICK = Explain(TEXT, None, Settings(n_samples=60, evidence=0))


def served(test, name=JUDGE, limits=LIMITS):
    """Run a test with a model that is served."""

    async def run():
        model = ServedModel(Open(name), limits)
        running = asyncio.create_task(model.run())
        try:
            async with asyncio.timeout(600):
                return await test(model)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    return asyncio.run(run())


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


def answer(model, ask):
    return model.submit(ask).answer


@pytest.mark.slow
def test_what_the_model_does_to_its_process_costs_one_answer():
    async def test(model):
        found = {}
        for text in ("it raises", "it is out of memory", "it exits"):
            found[text] = await answer(model, Predict(text))
            assert isinstance(await answer(model, Predict(TEXT)), Predicted)
        model.submit(Predict("it hangs"))
        await asyncio.sleep(0.1)
        return found, model._process._process.pid

    found, pid = served(test)
    with pytest.raises(ProcessLookupError):  # no process is left, whatever it does
        os.kill(pid, 0)
    assert {text: failed.error for text, failed in found.items()} == {
        "it raises": "ModelError",
        "it exits": "WorkerError",
        "it is out of memory": "ModelError",
    }
    assert "gave up" in found["it raises"].message
    assert "exit code 3" in found["it exits"].message
    assert "memory" in found["it is out of memory"].message


@pytest.mark.slow
def test_a_request_that_no_message_can_hold_costs_one_answer():
    async def test(model):
        asks = [Predict({"n": 2**64}), Explain(TEXT, None, Settings(seed=2**70))]
        return [await answer(model, ask) for ask in asks], await answer(model, Predict(TEXT))

    failed, predicted = served(test)
    assert [one.error for one in failed] == ["OptionError", "OptionError"]
    assert isinstance(predicted, Predicted)


@pytest.mark.slow
def test_a_model_that_hangs_is_ended_when_it_is_cancelled_or_takes_too_long():
    limits = SimpleNamespace(**LIMITS.to_dict())

    async def test(model):
        await until(lambda: model.state == "ready")
        hanging = model.submit(Explain("it hangs", None, Settings()))
        waiting = answer(model, Predict(TEXT))
        await asyncio.sleep(0.1)
        await model.cancel(hanging)
        assert isinstance(await waiting, Predicted)
        limits.seconds = 0.7  # of this request alone: the others may take long on a machine that is busy
        late = await answer(model, Predict("it hangs again"))
        limits.seconds = LIMITS.seconds
        return await hanging.answer, late, await answer(model, Predict(TEXT))

    cancelled, late, after = served(test, limits=limits)
    assert isinstance(cancelled, Cancelled)
    assert isinstance(late, Failed)
    assert late.error == "TextTimeoutError"
    assert "0.7 s" in late.message
    assert isinstance(after, Predicted)


@pytest.mark.slow
def test_explanations_wait_and_predictions_go_before():
    async def test(model):
        await until(lambda: model.state == "ready")
        told, process = [], model._process
        first = model.submit(SLOW)
        await asyncio.sleep(0.05)
        jobs = [model.submit(QUICK, lambda name, data, n=n: told.append((n, name, data))) for n in range(3)]
        prediction = answer(model, Predict(TEXT))
        order = []
        for n, future in enumerate([*(job.answer for job in jobs), prediction, first.answer]):
            future.add_done_callback(lambda _, n=n: order.append(n))
        with_full_queue = pytest.raises(QueueFullError)
        model.submit(QUICK)
        with with_full_queue:
            model.submit(QUICK)
        await model.cancel(jobs[1])
        await model.cancel(first)
        await asyncio.gather(*(job.answer for job in jobs), prediction)
        assert model._process is process
        return order, told, [await job.answer for job in (first, *jobs)]

    order, told, answers = served(test, limits=Limits(queue=5, grace=30.0))
    assert order == [1, 4, 3, 0, 2]
    assert [type(one) for one in answers] == [Cancelled, Explained, Cancelled, Explained]
    ahead = [data["ahead"] for n, name, data in told if n == 2 and name == "queued"]
    assert (ahead[0], ahead[-1]) == (3, 0)  # none when it begins, before the first batch is answered
    assert ahead != sorted(ahead)


@pytest.mark.slow
def test_a_request_is_withdrawn_only_while_it_waits():
    async def test(model):
        begun = model.submit(Predict(TEXT), lambda *_: model.withdraw(begun))  # told when it begins
        waiting, last = model.submit(Predict(TEXT)), model.submit(Predict(TEXT))
        model.withdraw(waiting)
        return [await job.answer for job in (begun, waiting, last)]

    assert [type(one) for one in served(test)] == [Predicted, Cancelled, Predicted]


@pytest.mark.slow
def test_a_model_that_cannot_be_opened_says_why():
    async def test(model):
        waiting = answer(model, QUICK)
        await until(lambda: model.state == "failed")
        with pytest.raises(ModelError, match="no-such-model"):
            model.submit(QUICK)
        return await waiting

    failed = served(test, "no-such-model")
    assert isinstance(failed, Failed)
    assert "no-such-model" in failed.message
