"""Tests of `mase.models.devices`."""

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
