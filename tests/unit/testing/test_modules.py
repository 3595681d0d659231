"""Tests of `mase.testing.modules`, and of when it is imported."""

import subprocess
import sys

import pytest
import torch

import mase.testing
from mase.testing import SmallLSTM, SmallMLP, Wrapped, whitespace_ids


@pytest.mark.slow
def test_torch_is_imported_with_the_modules_only():
    code = "import sys, mase.testing as t; print('torch' in sys.modules); t.SmallLSTM; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="LargeLSTM"):
        mase.testing.LargeLSTM  # noqa: B018


def test_modules_answer_ids_with_logits():
    ids = torch.tensor([whitespace_ids("a good film"), whitespace_ids("a dull film")])
    assert ids.shape == (2, 3)
    assert 10 <= ids.min() <= ids.max() < 500
    assert SmallMLP()(ids).shape == (2, 2)
    assert SmallLSTM(classes=3)(ids).shape == (2, 3)


def test_a_wrapped_module_has_the_same_weights_and_leaves_the_generator_alone():
    before = torch.get_rng_state()
    first, second = Wrapped(lambda logits: logits).eval(), Wrapped(lambda logits: -logits).eval()
    assert torch.equal(torch.get_rng_state(), before)
    ids = torch.tensor([whitespace_ids("a good film")])
    assert torch.equal(first(ids), -second(ids))
