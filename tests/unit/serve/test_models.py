"""Tests of `mase.serve.models`: a model that hangs, ends or fails costs one answer, and requests wait in a queue."""

import asyncio
import os
import signal

import pytest

pytest.importorskip("starlette")

from tests.unit.serve.clients import JUDGE, MODELS, TEXT

from mase.errors import ModelError, QueueFullError
from mase.serve.limits import Limits
from mase.serve.messages import Cancelled, Explain, Explained, Failed, Open, Predict, Predicted, Settings
from mase.serve.models import ServedModel

LIMITS = Limits(queue=5, seconds=60.0, grace=0.3)
SLOW = Explain("a slow text of some words " * 3, None, Settings(n_samples=2000, evidence=0))
QUICK = Explain(TEXT, None, Settings(n_samples=60, evidence=0))


def served(test, name=JUDGE, limits=LIMITS):
    """Run a test with a model that is served."""

    async def run():
        model = ServedModel(Open(name), limits)
        running = asyncio.create_task(model.run())
        try:
            async with asyncio.timeout(60):
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


def test_what_the_model_does_to_its_process_costs_one_answer():
    async def test(model):
        found = {}
        for text in ("it raises", "it exits", "it is out of memory"):
            found[text] = await answer(model, Predict(text))
            assert isinstance(await answer(model, Predict(TEXT)), Predicted)
        return found

    found = served(test)
    assert {text: failed.error for text, failed in found.items()} == {
        "it raises": "ModelError",
        "it exits": "WorkerError",
        "it is out of memory": "ModelError",
    }
    assert "gave up" in found["it raises"].message
    assert "exit code 3" in found["it exits"].message
    assert "memory" in found["it is out of memory"].message


def test_a_model_that_hangs_is_ended_when_it_is_cancelled_or_takes_too_long():
    async def test(model):
        await until(lambda: model.state == "ready")
        hanging = model.submit(Explain("it hangs", None, Settings()))
        waiting = answer(model, Predict(TEXT))
        await asyncio.sleep(0.1)
        await model.cancel(hanging)
        assert isinstance(await waiting, Predicted)
        late = await answer(model, Predict("it hangs again"))
        return await hanging.answer, late, await answer(model, Predict(TEXT))

    cancelled, late, after = served(test, limits=Limits(seconds=0.7, grace=0.3))
    assert isinstance(cancelled, Cancelled)
    assert isinstance(late, Failed)
    assert late.error == "TextTimeoutError"
    assert "0.7 s" in late.message
    assert isinstance(after, Predicted)


def test_explanations_wait_and_predictions_go_before():
    async def test(model):
        await until(lambda: model.state == "ready")
        told = []
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
        return order, told, [await job.answer for job in (first, *jobs)]

    order, told, answers = served(test)
    assert order == [1, 4, 3, 0, 2]
    assert [type(one) for one in answers] == [Cancelled, Explained, Cancelled, Explained]
    ahead = [data["ahead"] for n, name, data in told if n == 2 and name == "queued"]
    assert (ahead[0], ahead[-1]) == (3, 1)
    assert ahead != sorted(ahead)


def test_a_model_under_way_is_cancelled_after_a_batch_and_not_started_again():
    async def test(model):
        await until(lambda: model.state == "ready")
        process = model._process
        job = model.submit(SLOW)
        await asyncio.sleep(0.1)
        await model.cancel(job)
        return await job.answer, model._process is process

    found, is_same = served(test, limits=Limits(grace=30.0))
    assert isinstance(found, Cancelled)
    assert is_same


def test_a_process_that_is_killed_while_it_waits_is_started_again():
    async def test(model):
        for _ in range(2):
            await until(lambda: model.state == "ready")
            pid = model._process._process.pid
            os.kill(pid, signal.SIGKILL)
            await until(lambda: model.state != "ready")
        return await answer(model, Predict(TEXT))

    assert isinstance(served(test), Predicted)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (f"{MODELS}:broken", "from the start"),
        (f"{MODELS}:nothing", "nothing"),
        ("no-such-model", "no-such-model"),
        (f"{MODELS}:deadly", "exit code 7"),
    ],
)
def test_a_model_that_cannot_be_opened_says_why(name, reason):
    async def test(model):
        waiting = answer(model, QUICK)
        await until(lambda: model.state == "failed")
        with pytest.raises(ModelError, match=reason):
            model.submit(QUICK)
        return model.describe(), await waiting

    described, failed = served(test, name)
    assert reason in described["message"]
    assert isinstance(failed, Failed)
    assert reason in failed.message


def test_no_process_is_left():
    async def test(model):
        await until(lambda: model.state == "ready")
        answer(model, Predict("it hangs"))
        await asyncio.sleep(0.1)
        return model._process._process.pid

    pid = served(test)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
