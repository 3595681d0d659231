"""Tests of `mase.provenance`."""

import json
import platform
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mase.models import Callable, TorchModule, load
from mase.provenance import environment, installed
from mase.testing import SmallLSTM, whitespace_ids


def test_the_environment_holds_plain_values():
    facts = environment(load("lstm-imdb"))
    assert json.loads(json.dumps(facts)) == facts
    assert all(isinstance(value, str | int) for value in facts.values())
    assert installed().items() <= facts.items()
    assert facts["system"] == platform.system()
    assert (facts["device"], facts["torch_threads"]) == ("cpu", torch.get_num_threads())
    assert environment(load("lstm-imdb")) == facts


def test_the_environment_depends_on_the_kind_of_model(monkeypatch):
    function, module = Callable(np.zeros_like), TorchModule(SmallLSTM(), tokenize=whitespace_ids)
    assert environment(function) == environment()
    new = environment(module).keys() - environment().keys()
    assert new == {"device", "torch_threads", "torch_capability", "matmul_precision"}
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    assert environment(module)["matmul_precision"] == "medium"


def test_precisions_that_were_set_one_by_one_are_told():
    """PyTorch has no single precision of matrix products then."""
    module = TorchModule(SmallLSTM(), tokenize=whitespace_ids)
    try:
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        with pytest.raises(RuntimeError):
            torch.get_float32_matmul_precision()
        assert "tf32" in environment(module)["matmul_precision"]
    finally:
        torch.set_float32_matmul_precision("highest")


def test_on_a_gpu_the_precision_of_each_kind_of_layer_is_told(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"the GPU {device}")
    before = torch.backends.cudnn.conv.fp32_precision
    try:
        torch.backends.cudnn.conv.fp32_precision = "ieee"
        found = environment(SimpleNamespace(device="cuda:1"))
    finally:
        torch.backends.cudnn.conv.fp32_precision = before
    assert (found["device"], found["gpu"]) == ("cuda", "the GPU cuda:1")
    assert (found["cudnn_conv_precision"], found["cudnn_rnn_precision"]) == ("ieee", "tf32")


def test_the_package_of_an_estimator_is_part_of_the_environment():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.dummy import DummyClassifier

    from mase.models import adapt

    estimator = adapt(DummyClassifier().fit([[0], [0]], ["a", "b"]))
    assert environment(estimator)["sklearn"] == sklearn.__version__
    assert "sklearn" not in environment(Callable(sys.intern))
