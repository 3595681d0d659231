"""Tests of `mase.models.borrow`."""

import copy

import numpy as np
import pytest
import torch
from tests.unit.models.modules import TEXT, explain

import mase
from mase.errors import (
    ModelError,
)
from mase.models import TorchModule
from mase.testing import SmallLSTM, Wrapped, whitespace_ids


def state(module):
    return {
        "modes": [part.training for part in module.modules()],
        "hooks": [len(part._forward_hooks) for part in module.modules()],
        "parameters": copy.deepcopy(module.state_dict()),
        "grads": [None if p.grad is None else p.grad.clone() for p in module.parameters()],
        "requires": [p.requires_grad for p in module.parameters()],
        "dtype": next(module.parameters()).dtype,
        "random": torch.get_rng_state(),
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "enabled": torch.is_grad_enabled(),
        "attributes": [sorted(part.__dict__) for part in module.modules()],
    }


def assert_same(before, after):
    for key in before:
        assert str(before[key]) == str(after[key]), key


@pytest.mark.parametrize("method", ["mase", "mase-gradient", "mase-mask", "standard-gaussian"])
@pytest.mark.parametrize("fails", [False, True])
def test_module_is_handed_back_as_it_was_found(method, fails):
    calls = []

    def wrap(logits):
        calls.append(len(logits))
        if fails and len(calls) >= 6:  # the check of the layer passes over an error of its own
            raise ZeroDivisionError("at the k-th forward")
        return logits + 0 * torch.rand(1)  # uses global random numbers

    module = Wrapped(wrap).train()
    module.inner.head.eval()  # a mixture of modes
    module.inner.lstm.weight_hh_l0.requires_grad_(False)
    module(torch.tensor([[11, 12]])).sum().backward()
    calls.clear()
    before = state(module)
    explainer = mase.Explainer(
        TorchModule(module, tokenize=whitespace_ids, unk_id=1), method=method, n_samples=40, batch_size=8
    )
    if fails:
        with pytest.raises(ModelError, match="ZeroDivisionError: at the k-th forward"):
            explainer(TEXT)
    else:
        explainer(TEXT)
    assert_same(before, state(module))


def test_interrupt_passes_and_leaves_the_module_as_it_was():
    def wrap(logits):
        if len(logits) == 8:
            raise KeyboardInterrupt
        return logits

    module = Wrapped(wrap).train()
    before = state(module)
    with pytest.raises(KeyboardInterrupt):
        mase.Explainer(TorchModule(module, tokenize=whitespace_ids), batch_size=8)(TEXT)
    assert_same(before, state(module))


def test_random_states_of_numpy_and_python_are_restored():
    import random

    def wrap(logits):
        random.random()
        np.random.rand()  # noqa: NPY002
        return logits

    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    explain(Wrapped(wrap))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_a_module_that_overrides_train_is_told_of_both_modes():
    """Some switch a mode of their own there, as a fused layer does."""

    class Switched(Wrapped):
        own = True

        def train(self, mode=True):
            self.own = mode
            return super().train(mode)

    module = Switched(lambda logits: logits + 5.0 * module.own * torch.tensor([1.0, 0.0])).eval()
    model = TorchModule(module, tokenize=whitespace_ids, unk_id=1, labels=["no", "yes"])
    expected = model.predict([TEXT])
    module.train()
    assert np.array_equal(model.predict([TEXT]), expected)
    assert (module.own, module.training, module.inner.training) == (True, True, True)


@pytest.mark.parametrize("method", ["mase", "mase-gradient"])
def test_vectors_that_a_layer_clips_are_given_back(method):
    module = SmallLSTM()
    module.words.max_norm = 0.5
    before = state(module)
    model = TorchModule(module, tokenize=whitespace_ids, unk_id=1)
    found = mase.Explainer(model, method=method, n_samples=40)(TEXT)
    assert_same(before, state(module))
    with torch.no_grad():
        module.words.weight.renorm_(2, 0, 0.5)
    module.words.max_norm = None
    clipped = TorchModule(module, tokenize=whitespace_ids, unk_id=1)
    again = mase.Explainer(clipped, method=method, n_samples=40)(TEXT)
    assert found.scores == pytest.approx(again.scores, abs=1e-5)
