"""Tests of `mase_paper.training.lstm`."""

import torch

from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
from mase_paper.training.lstm import stored


def test_weights_are_rounded_to_what_is_stored():
    torch.manual_seed(0)
    module = LSTMClassifier(LSTMShape(7, 2, 3, 4, "max"))
    before = module.head.weight.clone()
    weights = stored(module)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    assert torch.equal(module.head.weight, before.half().float())
    assert not torch.equal(module.head.weight, before)
