"""Tests of `mase_paper.experiments.cached_model`."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest

import mase
from mase.models.base import Binding, Probe
from mase.spaces import SPACES
from mase_paper.experiments.cached_model import CachedModel

SENTENCE = "the plot is dull and slow but one actor is good in a grand way so i stayed to see how it would end"


WORDS = SENTENCE.split()


class Counting(Probe):
    """A probe that counts its rows."""

    def __init__(self, probe, seen):
        self._probe, self.seen = probe, seen

    def __getattr__(self, name):
        return getattr(self._probe, name)

    def scores(self, coordinates, rows):
        self.seen.append(len(rows))
        return self._probe.scores(coordinates, rows)

    def opened(self):
        return nullcontext(self.scores)


@pytest.fixture
def counted(lstm_model, monkeypatch):
    """Return the small LSTM, and the list of the batches that its probes were asked."""
    seen = []
    bind = lstm_model.bind
    monkeypatch.setattr(lstm_model, "bind", lambda binding: Counting(bind(binding), seen), raising=False)
    return lstm_model, seen


SAME_ROWS = [("mase-paper", {}), ("mase-sparse", {}), ("mase-paper", {"n_samples": 300}), ("standard-gaussian", {})]


@pytest.mark.slow
def test_memory_changes_no_bit_and_asks_once(counted):
    model, seen = counted
    text = " ".join(WORDS)
    plain = [mase.Explainer(model, method=name, evidence=0, **settings)(text).scores for name, settings in SAME_ROWS]
    asked = sum(seen)
    seen.clear()
    cached = CachedModel(model)
    found = [mase.Explainer(cached, method=name, evidence=0, **settings)(text).scores for name, settings in SAME_ROWS]
    for one, two in zip(plain, found, strict=True):
        assert np.array_equal(one, two)
    assert asked == 3308  # and each time some rows more, to compare
    # The noise of the last one is its own; N = 300 is a beginning of the same rows but for its last, shorter batch.
    assert 2003 <= sum(seen) <= 2306
    assert cached.saved > 0


def test_memory_tells_noise_seeds_and_texts_apart(counted):
    model, seen = counted
    cached = CachedModel(model)
    text = " ".join(WORDS)
    for method, seed in [("standard-gaussian", 0), ("standard-gaussian", 1), ("mase-cone", 0)]:
        again = mase.Explainer(cached, method=method, seed=seed, n_samples=64, evidence=0)(text).scores
        assert np.array_equal(
            again, mase.Explainer(model, method=method, seed=seed, n_samples=64, evidence=0)(text).scores
        )
    n_rows = sum(seen)
    cached.clear()
    mase.Explainer(cached, method="mase-cone", n_samples=64, evidence=0)(text)
    assert sum(seen) == n_rows + 65


def test_memory_knows_that_noise_belongs_to_rows_and_keys(lstm_model):
    tokens = lstm_model.encode(" ".join(WORDS))
    p = len(tokens)
    space, coordinates = SPACES["full-embedding"](), np.ones((4, p))
    cached = CachedModel(lstm_model)
    for key, rows in itertools.product([(1,), (2,)], [range(4), range(4, 8), range(4)]):
        binding = Binding(tokens, space, np.arange(p), p, key, 0.5)
        answers = [model.bind(binding).scores(coordinates, np.array(rows)) for model in (cached, lstm_model)]
        assert np.array_equal(*answers)


def test_memory_without_instructions_for_half_precision(lstm_model, slow_bfloat16):
    cached = CachedModel(lstm_model)
    asked = mase.Explainer(cached, method="mase-paper", n_samples=64, precision="bfloat16")(" ".join(WORDS))
    assert [note.code for note in asked.notes if "instead" in note.code] == ["float32-instead"]


def test_memory_keeps_half_precision_apart(mlp_model, fast_bfloat16):
    cached = CachedModel(mlp_model)
    text = " ".join(WORDS)
    for precision in ("float32", "bfloat16", "float32"):
        settings = {"method": "mase-paper+sigma=1.0", "n_samples": 64, "precision": precision}
        assert np.array_equal(
            mase.Explainer(cached, **settings)(text).scores, mase.Explainer(mlp_model, **settings)(text).scores
        )
