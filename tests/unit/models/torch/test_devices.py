"""Tests of `mase.models.torch.engine`."""

import pytest
import torch


@pytest.fixture
def one_by_one():
    """For tests that set the precision of one backend: set all of them afterwards."""
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.mkldnn.conv.fp32_precision = "none"
    torch.backends.cudnn.conv.fp32_precision = torch.backends.cudnn.rnn.fp32_precision = "tf32"  # the default


def test_which_processors_multiply_bfloat16(monkeypatch):
    from mase.models.torch.engine import multiplies_bfloat16

    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert multiplies_bfloat16(cpu)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert not multiplies_bfloat16(cpu)
    for capability, expected in [((7, 5), False), ((8, 0), True), ((9, 0), True)]:  # a T4, an A100, an H100
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, it=capability: it)
        assert multiplies_bfloat16(cuda) is expected


def test_only_a_gpu_has_a_name(monkeypatch):
    from mase.models.torch.engine import gpu_name

    monkeypatch.setattr(torch.cuda, "get_device_name", "the name of {}".format)
    assert gpu_name("cpu") is None
    assert gpu_name("cuda:1") == "the name of cuda:1"


def test_a_module_with_offloaded_weights_is_where_its_other_tensors_are():
    from mase.models.torch.engine import device_of

    offloaded = torch.nn.Linear(2, 2, device="meta")
    assert device_of(torch.nn.Sequential(offloaded, torch.nn.Linear(2, 2))).type == "cpu"
    assert device_of(offloaded).type == "meta"
    assert device_of(torch.nn.Sequential()).type == "cpu"


def test_a_module_whose_weights_are_all_offloaded_is_where_it_runs():
    from mase.models.torch.engine import device_of

    accelerate = pytest.importorskip("accelerate")
    module = accelerate.cpu_offload(torch.nn.Sequential(torch.nn.Linear(2, 2)), execution_device=torch.device("cpu"))
    assert all(weights.is_meta for weights in module.parameters())
    assert device_of(module).type == "cpu"


@pytest.mark.usefixtures("one_by_one")
def test_which_modules_compute_with_few_bits():
    from mase.models.torch.engine import rounds

    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    linear, recurrent, convolution = torch.nn.Linear(2, 2), torch.nn.LSTM(2, 2), torch.nn.Conv1d(2, 2, 1)
    assert not any(rounds(module, cpu) for module in (linear, recurrent, convolution))
    assert rounds(torch.nn.Linear(2, 2, dtype=torch.float16), cpu)
    assert not rounds(torch.nn.Linear(2, 2, dtype=torch.float64), cpu)
    # By default cuDNN rounds to TF32.
    assert [rounds(module, cuda) for module in (linear, recurrent, convolution)] == [False, True, True]
    with torch.backends.cudnn.flags(enabled=False, allow_tf32=True):
        assert not rounds(recurrent, cuda)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert not rounds(recurrent, cuda)
    torch.backends.mkldnn.conv.fp32_precision = "bf16"
    assert [rounds(module, cpu) for module in (linear, recurrent, convolution)] == [False, False, True]
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    assert rounds(linear, cpu)
    assert not rounds(linear, cuda)
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    assert rounds(linear, cuda)


@pytest.mark.usefixtures("one_by_one")
def test_cudnn_is_switched_off_and_nothing_else(monkeypatch):
    from mase.models.torch.engine import WITHOUT_CUDNN

    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    torch.backends.cudnn.rnn.fp32_precision = "ieee"  # and conv has another one
    with WITHOUT_CUDNN:
        assert not torch.backends.cudnn.enabled
        assert torch.backends.cudnn.deterministic
        assert torch.backends.cudnn.rnn.fp32_precision == "ieee"
    assert torch.backends.cudnn.enabled
    assert torch.backends.cudnn.rnn.fp32_precision == "ieee"
