"""Tests of `mase.models.torch.weights`."""

import copy
import json
import shutil
import struct
import warnings
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
import torch
from tests.forks import held
from tests.unit.models.modules import Around

import mase
from mase.errors import CapabilityError, DataError
from mase.models import TorchModule, bundled, limits, load
from mase.models.locks import alone
from mase.models.torch.weights import Checksum, checksum
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
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(2, 2).to(torch.bfloat16))
    module.register_buffer("empty", torch.empty(0))
    first = checksum(module)
    module[0].num_batches_tracked += 1
    assert checksum(module) != first


def quantized(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch moves this function to another package
        kinds = {torch.nn.Linear, torch.nn.LSTM}
        return torch.ao.quantization.quantize_dynamic(module, kinds, dtype=torch.qint8)


@pytest.mark.skipif(torch.backends.quantized.engine == "none", reason="this build of torch cannot quantize")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layer", [torch.nn.Linear, torch.nn.LSTM])
def test_packed_weights_of_quantized_layers_belong_to_the_checksum(layer):
    plain = torch.nn.Sequential(layer(4, 3))
    other = copy.deepcopy(plain)
    with torch.no_grad():
        next(other.parameters())[0, 0] += 1
    one, two = quantized(plain), quantized(other)
    assert checksum(one) == checksum(quantized(plain)) != checksum(two)
    seen = Checksum(one)
    before = seen.value()
    one[0] = two[0]
    assert seen.value() == checksum(two) != before


class WithState(torch.nn.Linear):
    """A layer with a state that is no tensor."""

    def __init__(self, state):
        super().__init__(1, 1)
        torch.nn.init.zeros_(self.weight)
        torch.nn.init.zeros_(self.bias)
        self.state = state

    def get_extra_state(self):
        return self.state

    def set_extra_state(self, state):
        self.state = state


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")  # of deepcopy of quantized tensors
def test_other_state_belongs_to_the_checksum():
    ints = [torch.quantize_per_tensor(torch.ones(2) * scale, scale, 0, torch.qint8) for scale in (0.5, 1.0)]
    states = [
        *ints,
        None,
        {"scale": torch.ones(2)},
        {"scale": torch.zeros(2)},
        {"scale": torch.zeros(2, 1)},
        (1, b"x"),
        (1, b"y"),
    ]
    assert len({checksum(WithState(state)) for state in states}) == len(states)
    assert all(checksum(WithState(state)) == checksum(WithState(copy.deepcopy(state))) for state in states)
    with pytest.raises(CapabilityError, match=r"state _extra_state of type function, .*torch\.save"):
        checksum(WithState(lambda: None))


def test_weights_that_are_not_loaded_have_no_checksum():
    with pytest.raises(CapabilityError, match="device meta"):
        Checksum(torch.nn.Linear(2, 2, device="meta")).value()


def test_offloaded_weights_have_the_checksum_of_the_same_weights_in_memory():
    accelerate = pytest.importorskip("accelerate")
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
    expected = checksum(module)
    offloaded = accelerate.cpu_offload(copy.deepcopy(module), execution_device=torch.device("cpu"))
    assert all(weights.is_meta for weights in offloaded.parameters())
    assert Checksum(offloaded).value() == checksum(offloaded) == expected
    assert all(weights.is_meta for weights in offloaded.parameters())


def test_offloaded_weights_are_read_while_no_other_thread_runs_the_module():
    accelerate = pytest.importorskip("accelerate")
    module = torch.nn.Sequential(torch.nn.Linear(2, 3))
    expected = checksum(module)
    offloaded = accelerate.cpu_offload(module, execution_device=torch.device("cpu"))
    with ThreadPoolExecutor(1) as pool:
        with held(alone(offloaded)):
            found = pool.submit(checksum, offloaded)
            assert not wait([found], timeout=0.2).done
        assert found.result() == expected


DEEP = "[" * 100_000 + "]" * 100_000


def header(**tensors):
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


PLACE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


HEADERS = {
    "short": b"\x01", "length": struct.pack("<Q", 2**63), "long": struct.pack("<Q", 10**9) + b"{}",
    "list": struct.pack("<Q", 2) + b"[]", "entry": header(a=1), "shape": header(a={**PLACE, "shape": [-1]}) + b"1234",
    "type": header(a={**PLACE, "dtype": "PICKLE"}) + b"1234",
    "huge": header(a={**PLACE, "shape": [2**62, 2**62]}) + b"1234",
    "offsets": header(a={**PLACE, "data_offsets": [0, 10**12]}), "missing": header(a={"dtype": "F32"}),
    "deep": struct.pack("<Q", 200_000) + DEEP.encode(),
    "dimensions": header(a={**PLACE, "shape": [1] * 10_000}) + b"1234",
}  # fmt: skip


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_weights_with_bad_headers_are_refused(content, folder, tmp_path):
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError):
        load(folder)
    own = Path(shutil.copytree(bundled.folder("lstm-imdb"), tmp_path / "own"))
    (own / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError):
        load(own)


def test_too_many_tensors_are_refused(folder, monkeypatch):
    monkeypatch.setattr(limits, "TENSORS", 1_000)
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    (folder / "model.safetensors").write_bytes(header(**{f"t{index}": empty for index in range(1_001)}))
    with pytest.raises(DataError, match="1,000 tensors"):
        load(folder)
