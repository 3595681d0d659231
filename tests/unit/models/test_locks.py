"""Tests of `mase.models.locks`."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tests.unit.models.modules import TEXT

import mase
from mase.models import Callable, TorchModule
from mase.testing import Wrapped, whitespace_ids


def test_threads_take_turns_with_a_module():
    """Two explanations of one module at once: each as alone, and the module as it was."""
    module = Wrapped(lambda z: z).train()
    model = TorchModule(module, tokenize=whitespace_ids)
    texts = [TEXT, TEXT.replace("good", "dull"), "a film", "one more of these slow ones"]
    explainer = mase.Explainer(model, n_samples=60)
    alone = [explainer(text).scores.tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: explainer(text).scores.tolist(), texts * 6))
    assert together == alone * 6
    assert all(part.training for part in module.modules())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


TEXTS = ["one", "two"]


def test_threads_take_turns_with_a_black_box():
    inside, most = [], []
    buffer = np.empty((300, 2))  # which the function fills for every answer

    def predict(texts):
        inside.append(threading.get_ident())
        most.append(len(inside))
        time.sleep(0.001)
        chance = np.array([len(text) / 100 for text in texts])
        buffer[: len(texts)] = np.stack([chance, 1 - chance], axis=1)
        inside.pop()
        return buffer[: len(texts)]

    model = Callable(predict, ["long", "short"])
    explainer, texts = mase.Explainer(model, n_samples=40), ["a film", "one two three", "good, fine", "so it goes"] * 4
    alone = [explainer(text).scores.tolist() for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: explainer(text).scores.tolist(), texts))
    assert max(most) == 1
    assert together == alone


def test_a_black_box_may_ask_itself_and_two_do_not_wait_for_each_other():
    def doubting(texts):
        return [[0.5, 0.5]] * len(texts) if texts == ["?"] else model.predict(["?"]).repeat(len(texts), axis=0)

    model = Callable(doubting, ["no", "yes"])
    assert model.predict(TEXTS).shape == (2, 2)
    meeting = threading.Barrier(2, timeout=30)

    def met(texts):
        meeting.wait()
        return [[0.5, 0.5]] * len(texts)

    with ThreadPoolExecutor(2) as pool:
        assert (
            len(list(pool.map(lambda one: one.predict(["a"]), [Callable(met, ["a", "b"]), Callable(met, ["a", "b"])])))
            == 2
        )
