"""Tests of `mase.models.weights`."""

import json
import shutil
import struct
from pathlib import Path

import pytest

from mase.errors import DataError
from mase.models import bundled, limits, load

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
