"""Tests of `mase.explainer`: the scores of a text do not depend on what was explained before it, nor on the process."""

import random

import numpy as np
import pytest
import torch

import mase
from mase.errors import ModelError
from mase.models import Callable, TorchModule
from mase.testing import LogisticClassifier, SmallLSTM, whitespace_ids

TEXTS = ["a good film , though rather slow", "not good , and far too long for me", "good"]
WORDS = LogisticClassifier({"good": 2.0, "slow": -1.0, "long": -0.5})
FAILING = "this text breaks the model"


def noisy(texts):
    """A function with random numbers of NumPy and Python, which also fails for one text."""
    if any("breaks" in text for text in texts):
        raise ValueError("broken")
    table = np.asarray(WORDS(texts)) + np.random.normal(0, 0.01, (len(texts), 1)) * [1, -1]  # noqa: NPY002
    p = np.clip(table[:, 0] + random.random() / 100, 0, 1)
    return np.stack([p, 1 - p], axis=1)


class Dropping(SmallLSTM):
    """A module whose dropout is always on."""

    def forward(self, ids):
        if len(ids[0]) > 9:
            raise RuntimeError("too long")
        states, _ = self.lstm(self.words(ids))
        return self.head(torch.nn.functional.dropout(states.amax(1), 0.3, training=True))


def tokenize(text):
    if text == FAILING:
        raise ValueError("broken")
    return whitespace_ids(text)


def module(kind):
    torch.manual_seed(3)
    return TorchModule(kind(), tokenize=tokenize, mask_id=2)


MODELS = {
    "function": lambda: WORDS,
    "noisy function": lambda: noisy,
    "noisy function with a token": lambda: Callable(noisy, mask_token="..."),
    "module": lambda: module(SmallLSTM),
    "noisy module": lambda: module(Dropping),
}


def scores(explainer, texts):
    return {text: (one := explainer(text)).scores.tolist() + one.standard_errors.tolist() for text in texts}


def seed_all(seed):
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    torch.manual_seed(seed)


@pytest.mark.parametrize("name", MODELS)
def test_order_and_failures_and_random_states_change_no_bit(name):
    def explainer():
        return mase.Explainer(MODELS[name](), n_samples=40)

    seed_all(1)
    expected = scores(explainer(), TEXTS)
    seed_all(2)
    other = explainer()
    if name != "function":
        with pytest.raises(ModelError):
            other(FAILING)
    assert scores(other, reversed(TEXTS)) == expected
    assert scores(other, TEXTS) == expected
    assert [scores(explainer(), [text]) for text in TEXTS] == [{text: expected[text]} for text in TEXTS]


def test_the_seed_of_the_explainer_seeds_a_noisy_function():
    first, second = (mase.Explainer(noisy, n_samples=40, seed=seed)(TEXTS[0]).scores.tolist() for seed in (0, 1))
    assert first != second


class Switching(SmallLSTM):
    """A module for at least ten words, whose scores are logits of short texts and probabilities of long ones."""

    def forward(self, ids):
        if ids.shape[1] < 10:
            raise RuntimeError("too short")
        logits = super().forward(ids)
        return logits if ids.shape[1] < 20 else torch.softmax(logits, 1)


def test_the_first_text_does_not_decide_what_the_scores_are():
    texts = [" ".join(f"w{index}" for index in range(n)) for n in (12, 30)]
    forth, back = module(Switching), module(Switching)
    assert [forth.predict([text]).tolist() for text in texts] == [
        back.predict([text]).tolist() for text in reversed(texts)
    ][::-1]
