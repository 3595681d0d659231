"""Tests of `mase.models.batching`."""

import numpy as np
import pytest
import torch
from tests.unit.models.modules import TEXT, explain

from mase import Explainer
from mase.errors import ModelError, NonFiniteError, OptionError
from mase.models import TorchModule
from mase.models.batching import ask, check_batch_size
from mase.solve.oracle import Oracle, QueryOptions
from mase.testing import FunctionProbe, Wrapped, smooth, whitespace_ids


def test_out_of_memory_of_torch_halves_the_batch():
    seen = []

    def wrap(logits):
        seen.append(len(logits))
        if len(logits) > 8 and len(logits) != 32:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    found, _ = explain(Wrapped(wrap), n_samples=200)
    assert max(seen) > 32
    assert found.scores == pytest.approx(explain(Wrapped(lambda z: z), n_samples=200)[0].scores, abs=1e-6)


def test_out_of_memory_halves_the_batches_of_predictions_too():
    seen = []

    def wrap(logits):
        seen.append(len(logits))
        if len(logits) > largest:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    texts = [" ".join(TEXT.split()[i % 5 :]) for i in range(100)]
    largest = 100
    model = TorchModule(Wrapped(wrap), tokenize=whitespace_ids)
    expected = model.predict(texts)
    largest = 6
    seen.clear()
    assert model.predict(texts) == pytest.approx(expected, abs=1e-6)
    assert max(seen) == 20
    assert sum(size for size in seen if size <= largest) == 100
    largest = 0
    with pytest.raises(ModelError, match="single input"):
        model.predict(texts)


def test_out_of_memory_on_a_cpu_is_recognised():
    from mase.models.torch.engine import out_of_memory

    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    assert out_of_memory(caught.value)
    assert not out_of_memory(RuntimeError("shapes do not match"))

    def starving(logits):
        if len(logits) == 1:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    with pytest.raises(ModelError, match="single text"):
        explain(Wrapped(starving))


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_batch_size_changes_nothing(batch_size):
    probe, coordinates = smooth(5), np.random.default_rng(0).random((100, 5))
    whole = probe.function(coordinates)
    assert ask(probe, coordinates, batch_size)[:, 0] == pytest.approx(whole)
    options = QueryOptions(batch_size)
    oracle = Oracle.of(probe, "tried", "logit", 0, np.ones(5, dtype=bool), binary=False, options=options)
    scores, slopes = oracle.gradients(coordinates)
    assert scores[:, 0] == pytest.approx(whole)
    assert slopes == pytest.approx(probe.slope(coordinates))


def test_out_of_memory_halves_the_batch_and_loses_nothing():
    def hungry(c):
        if len(c) > 6:
            raise MemoryError
        return c.sum(axis=1)

    probe = FunctionProbe(hungry, 3)
    coordinates = np.random.default_rng(0).random((50, 3))
    assert ask(probe, coordinates, 32)[:, 0] == pytest.approx(coordinates.sum(axis=1))
    assert probe.batches[:4] == [25, 12, 6, 6]  # the last two batches of at most 32 rows are even


def test_out_of_memory_on_one_row_is_an_error():
    def starving(c):
        raise MemoryError

    with pytest.raises(ModelError, match="single input"):
        ask(FunctionProbe(starving, 3), np.ones((4, 3)))


def test_nan_names_the_row():
    def broken(c):
        return np.where(c[:, 0] > 0.5, np.nan, 1.0)

    with pytest.raises(NonFiniteError, match="row 2 of the design"):
        ask(FunctionProbe(broken, 1), np.array([[0.0], [0.0], [1.0]]))


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "large", True])
def test_bad_batch_size(batch_size):
    with pytest.raises(OptionError, match="batch_size"):
        check_batch_size(batch_size)


@pytest.mark.parametrize("method", ["mase", "mase-nlgp", "mase-gradient", "permutation-importance", "partition-shap"])
def test_out_of_memory_is_noted_and_forgotten_by_the_next_text(method):
    largest = 1000

    def wrap(logits):
        if len(logits) > largest:
            raise torch.OutOfMemoryError("out of memory")
        return logits

    explainer = Explainer(TorchModule(Wrapped(wrap), tokenize=whitespace_ids), method=method, n_samples=64, evidence=0)
    before = explainer(TEXT)
    largest = 3
    halved = explainer(TEXT)
    largest = 1000
    codes = [[note.code for note in one.notes] for one in (before, halved, explainer(TEXT))]
    assert ["batch-halved" in each for each in codes] == [False, True, False]
    assert halved.scores == pytest.approx(before.scores, abs=1e-5)
    assert explainer(TEXT).scores.tolist() == before.scores.tolist()
