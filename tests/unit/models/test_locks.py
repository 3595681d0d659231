"""Tests of `mase.models.locks`; Tests of the threads of `mase.models.locks`."""

import ctypes
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pytest
import torch
from tests.forks import forked, held
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model
from tests.unit.models.modules import TEXT
from threadpoolctl import threadpool_limits

import mase
from mase.models import Callable, TorchModule
from mase.models.locks import ProcessSetting, alone, configure, single_thread
from mase.models.torch.engine import WITHOUT_CUDNN, borrowed
from mase.provenance import environment
from mase.testing import LogisticClassifier, SmallLSTM, Wrapped, whitespace_ids


@pytest.mark.slow
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


@pytest.mark.slow
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


class Setting:
    """A value of the process, and a context in which it is another."""

    def __init__(self):
        self.value = "usual"

    @contextmanager
    def changed(self):
        found, self.value = self.value, "changed"
        try:
            yield
        finally:
            self.value = found


def test_the_last_thread_restores_what_the_first_one_found():
    setting = Setting()
    block = ProcessSetting(setting.changed)
    with ExitStack() as other:
        other.enter_context(held(block))
        with block:
            with block:
                assert setting.value == "changed"
            other.close()
            assert setting.value == "changed"
    assert setting.value == "usual"
    with suppress(KeyError), block:
        assert setting.value == "changed"
        raise KeyError
    assert setting.value == "usual"


def test_a_setting_that_appears_later_is_changed_then():
    setting, there = Setting(), []
    block = ProcessSetting(lambda: setting.changed() if there else None)
    with block:
        assert setting.value == "usual"
        there.append(True)
        with block:
            assert setting.value == "changed"
    assert setting.value == "usual"


def test_a_fork_has_the_blocks_of_its_own_thread_only():
    setting = Setting()
    block = ProcessSetting(setting.changed)

    def ends():
        inside = setting.value
        with block:
            pass
        return (inside, setting.value) == ("usual", "usual")

    with held(block):
        assert forked(ends)
        with block:
            assert forked(lambda: setting.value == "changed")
        assert setting.value == "changed"
    assert setting.value == "usual"


def test_compiled_code_is_used_again_after_explanations_in_two_threads():
    runs = []

    def counted(graph, _):
        return lambda *args: runs.append(graph) or graph(*args)

    double = torch.compile(lambda z: 2 * z, backend=counted)
    double(torch.ones(3))
    assert len(runs) == 1
    with ExitStack() as other:
        other.enter_context(held(borrowed(torch.nn.Linear(2, 2))))
        with borrowed(torch.nn.Linear(2, 2)):
            other.close()
            double(torch.ones(3))
            assert len(runs) == 1  # the other thread has left, and this one still wants the code as it is written
    double(torch.ones(3))
    assert len(runs) == 2


def test_cudnn_is_on_again_after_gradients_in_two_threads():
    found = torch.backends.cudnn.enabled
    with ExitStack() as other:
        other.enter_context(held(WITHOUT_CUDNN))
        with WITHOUT_CUDNN:
            other.close()
            assert not torch.backends.cudnn.enabled
    assert torch.backends.cudnn.enabled == found


class Recorded:
    """The C library, with what it answers to mallopt."""

    def __init__(self):
        self.library, self.answers = ctypes.CDLL(None), {}

    def mallopt(self, option, value):
        self.answers[option] = self.library.mallopt(option, value)


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc"
)
def test_a_settled_process_keeps_its_memory_from_batch_to_batch(monkeypatch):
    """Glibc takes both thresholds, and the threads are as many as were asked for."""
    recorded, threads = Recorded(), torch.get_num_threads()
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: recorded)
    configure()
    assert torch.get_num_threads() == threads
    assert recorded.answers == {-1: 1, -3: 1}
    configure(threads + 1)
    assert torch.get_num_threads() == threads + 1
    torch.set_num_threads(threads)


WORDS = [f"w{index}" for index in range(150)]


def threads():
    facts = environment(TorchModule(SmallLSTM(), tokenize=whitespace_ids))
    return facts["threads"], facts["torch_threads"]


@pytest.mark.slow
def test_a_block_has_a_single_thread_and_gives_the_bits_of_one():
    explainer = mase.Explainer(LogisticClassifier(dict(zip(WORDS, np.linspace(-1, 1, 150), strict=True))))
    with threadpool_limits(1):
        expected = explainer(" ".join(WORDS)).scores.tolist()
    before = torch.get_num_threads()
    with threadpool_limits(2, user_api="blas"):
        torch.set_num_threads(2)
        try:
            with single_thread():
                assert threads() == (1, 1)
                assert explainer(" ".join(WORDS)).scores.tolist() == expected
            assert threads() == (2, 2)
        finally:
            torch.set_num_threads(before)
