"""Tests of `mase.models.locks`."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from tests.forks import forked, held
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model
from tests.unit.models.modules import TEXT

import mase
from mase.models import Callable, TorchModule
from mase.models.borrow import borrowed
from mase.models.locks import alone
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


def test_modules_that_share_word_vectors_take_turns():
    """Or else the one that is restored first would train inside of the other."""
    words, meeting, modes = torch.nn.Embedding(9, 2), threading.Event(), []
    first, second = (torch.nn.Sequential(words, torch.nn.Dropout(), torch.nn.Linear(2, 2)) for _ in range(2))

    def enter():
        with borrowed(second):
            meeting.set()
            modes.append((first[1].training, words.training))

    other = threading.Thread(target=enter)
    with borrowed(first):
        other.start()
        assert not meeting.wait(0.5)
    other.join()
    assert modes == [(True, False)]
    assert words.training


@pytest.mark.parametrize("method", ["mase", "mase-gradient"])
def test_a_module_answers_other_threads_as_it_is(method):
    """While it is explained it runs for somebody else, too: in no forward pass are there vectors of the other."""
    ids, explaining, answers = torch.tensor([whitespace_ids(TEXT)]), threading.get_ident(), []

    def wrap(logits):
        if threading.get_ident() == explaining:
            answers.append(pool.submit(module, ids).result())
        return logits

    module = Wrapped(lambda z: z).eval()
    explainer = mase.Explainer(TorchModule(module, tokenize=whitespace_ids), method=method, n_samples=40)
    alone, found = module(ids), explainer(TEXT)
    module.wrap = wrap
    with ThreadPoolExecutor(1) as pool:
        assert explainer(TEXT).scores.tolist() == found.scores.tolist()
    assert len(answers) > 1
    assert all(torch.equal(answer, alone) for answer in answers)


def test_a_language_model_answers_other_threads_at_all_positions():
    module, ids, explaining, shapes = causal_model(), torch.tensor([[1, 2, 3, 4]]), threading.get_ident(), []

    def ask(*_):
        if threading.get_ident() == explaining:
            shapes.append(pool.submit(module, ids).result().logits.shape[:2])

    asked = {"context": "The sky is red.", "query": "Which colour?", "answer": "red", "n_samples": 4}
    found = mase.cite(module, byte_tokenizer(), **asked)
    module.get_input_embeddings().register_forward_hook(ask)
    with ThreadPoolExecutor(1) as pool:
        assert mase.cite(module, byte_tokenizer(), **asked).scores.tolist() == found.scores.tolist()
    assert set(shapes) == {(1, 4)}


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


def test_a_fork_does_not_wait_for_threads_that_it_does_not_have():
    model = Callable(lambda texts: [[0.5, 0.5]] * len(texts))
    with held(alone(model)):
        assert forked(lambda: model.predict(TEXTS).tolist() == [[0.5, 0.5]] * 2)


def test_a_black_box_may_ask_itself_and_two_do_not_wait_for_each_other():
    def doubting(texts):
        return [[0.5, 0.5]] * len(texts) if texts == ["?"] else model.predict(["?"]).repeat(len(texts), axis=0)

    model = Callable(doubting, ["no", "yes"])
    assert model.predict(TEXTS).shape == (2, 2)
    meeting = threading.Barrier(2, timeout=240)

    def met(texts):
        meeting.wait()
        return [[0.5, 0.5]] * len(texts)

    with ThreadPoolExecutor(2) as pool:
        assert (
            len(list(pool.map(lambda one: one.predict(["a"]), [Callable(met, ["a", "b"]), Callable(met, ["a", "b"])])))
            == 2
        )
