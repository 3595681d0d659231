"""Tests of `mase_paper.training.lora`."""

import pytest
import torch
from paper.tests.training.bases import adapted_module
from torch import nn

from mase.errors import DataError
from mase.models.bundled.bert import classifier, merge
from mase_paper.training.classify import logits
from mase_paper.training.lora import Adapter, attach, changes, trainable


def test_an_adapter_is_its_formula_and_its_gradients_are_those_of_autograd():
    torch.manual_seed(0)
    adapter = Adapter(nn.Linear(5, 7).requires_grad_(requires_grad=False), rank=2, scale=1.5)
    nn.init.normal_(adapter.up)
    inputs, weights = torch.randn(4, 3, 5, requires_grad=True), torch.randn(4, 3, 7)
    slow = inputs @ (adapter.linear.weight + 1.5 * adapter.up @ adapter.down).T + adapter.linear.bias
    wanted = torch.autograd.grad((slow * weights).sum(), [inputs, adapter.up, adapter.down])
    fast = adapter(inputs)
    torch.testing.assert_close(fast, slow)
    for got, want in zip(
        torch.autograd.grad((fast * weights).sum(), [inputs, adapter.up, adapter.down]), wanted, strict=True
    ):
        torch.testing.assert_close(got, want)


def test_training_starts_at_the_pretrained_model_and_changes_nothing_frozen(base):
    torch.manual_seed(0)
    plain = classifier(base, ["neg", "pos"]).eval()
    torch.manual_seed(0)
    module = classifier(base, ["neg", "pos"]).eval()
    attach(module, module.base_model_prefix, 3, 2.0)
    ids = torch.randint(5, 20, (3, 6))
    with torch.no_grad():
        torch.testing.assert_close(module(ids).logits, plain(ids).logits)
    names = trainable(module)
    assert not [name for name in names if ".embeddings." in name or name.endswith(".linear.weight")]
    assert {"bert.pooler.dense.weight", "classifier.weight", "bert.encoder.layer.1.output.LayerNorm.bias"} <= set(names)
    assert sum(name.endswith(".up") for name in names) == 2 * 6  # every linear layer of both layers of the encoder


def test_merging_equals_the_forward_pass_with_adapters(base):
    module = adapted_module(base)
    plain = classifier(base, ["neg", "pos"]).eval()
    exact = {name: tensor.float() for name, tensor in changes(trainable(module)).items()}
    with torch.no_grad():  # the stored values, on both sides
        for parameter in trainable(module).values():
            parameter.copy_(parameter.half().float())
    merge(plain, exact, 2.0)
    ids = torch.randint(5, 20, (3, 9))
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, module(ids).logits, atol=1e-5, rtol=0)
    assert not any(isinstance(layer, Adapter) for layer in plain.modules())


def test_the_short_cut_of_the_last_layer_changes_nothing(base):
    module = adapted_module(base)
    ids, mask = torch.randint(5, 20, (4, 9)), torch.ones(4, 9, dtype=torch.bool)
    mask[1, 4:] = mask[3, 1:] = False
    with torch.no_grad():
        for chosen in (mask, torch.ones_like(mask)):
            expected = module(input_ids=ids, attention_mask=chosen.long()).logits
            torch.testing.assert_close(logits(module, ids, chosen), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored.pop("bert.encoder.layer.0.output.dense.weight_down"), "is none, expected one of shape"),
        (lambda stored: stored.update({"nowhere": torch.zeros(1)}), "has no weight 'nowhere'"),
        (lambda stored: stored.update({"classifier.bias": torch.zeros(3)}), r"shape \(3,\), expected \(2,\)"),
        (lambda stored: stored.pop("bert.encoder.layer.0.output.dense.weight_up"), "has no matching up factor"),
        (lambda stored: stored.pop("classifier.weight"), "lack classifier.weight"),
        (lambda stored: stored.pop("bert.pooler.dense.bias"), "lack bert.pooler.dense.bias"),
    ],
)
def test_tensors_that_do_not_fit_are_an_error(base, change, message):
    stored = changes(trainable(adapted_module(base)))
    change(stored)
    with pytest.raises(DataError, match=message):
        merge(classifier(base, ["neg", "pos"]), stored, 2.0)
