"""Tests of `mase.models.checksum`."""

import torch
from tests.unit.models.modules import Around

import mase
from mase.models import TorchModule
from mase.testing import whitespace_ids


def test_weights_that_fused_optimizers_write_have_a_new_checksum():
    module = Around(in_place=False)
    model = TorchModule(module, tokenize=whitespace_ids, embedding="words")
    before = model.sha256
    optimizer = torch.optim.Adam(module.parameters(), fused=True)
    module(torch.tensor([[1, 2]])).sum().backward()
    optimizer.step()
    assert model.sha256 != before
    with torch.inference_mode():
        other = TorchModule(Around(in_place=False), tokenize=whitespace_ids, embedding="words")
    assert len(mase.Explainer(other, n_samples=30)("one two").model["sha256"]) == 64


def test_checksum_of_scalars_empty_tensors_and_other_types():
    from mase.models.checksum import checksum

    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(2, 2).to(torch.bfloat16))
    module.register_buffer("empty", torch.empty(0))
    first = checksum(module)
    module[0].num_batches_tracked += 1
    assert checksum(module) != first
