"""Tests of `mase.models.devices`."""

import pytest
import torch


def test_which_processors_multiply_bfloat16(monkeypatch):
    from mase.models.devices import multiplies_bfloat16

    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert multiplies_bfloat16(cpu)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert not multiplies_bfloat16(cpu)
    for capability, expected in [((7, 5), False), ((8, 0), True), ((9, 0), True)]:  # a T4, an A100, an H100
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, it=capability: it)
        assert multiplies_bfloat16(cuda) is expected


def test_a_module_with_offloaded_weights_is_where_its_other_tensors_are():
    from mase.models.devices import device_of

    offloaded = torch.nn.Linear(2, 2, device="meta")
    assert device_of(torch.nn.Sequential(offloaded, torch.nn.Linear(2, 2))).type == "cpu"
    assert device_of(offloaded).type == "meta"
    assert device_of(torch.nn.Sequential()).type == "cpu"


def test_a_module_whose_weights_are_all_offloaded_is_where_it_runs():
    from mase.models.devices import device_of

    accelerate = pytest.importorskip("accelerate")
    module = accelerate.cpu_offload(torch.nn.Sequential(torch.nn.Linear(2, 2)), execution_device=torch.device("cpu"))
    assert all(weights.is_meta for weights in module.parameters())
    assert device_of(module).type == "cpu"
