"""Export the bundled models to ONNX: `model.onnx` with its tokenizer and configuration, in a folder of its own."""

import json
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import nn

from mase.errors import DataError, ModelError
from mase.models import bundled
from mase.models.bundled.bert import base_folder, tokenizer
from mase.models.limits import read_json
from mase.models.onnx import FILE, OnnxModel, open_session, read
from mase.models.origin import absolute
from mase.registry import require

# The largest difference of a logit between a model and its export in float32.
TOLERANCE = 1e-4
_SHAPES = ((1, 3), (2, 7), (5, 40))  # of the inputs on which they are compared
_SETTINGS = ("name", "labels", "max_length", "keep")


def export_onnx(
    name_or_path: str | os.PathLike[str], folder: str | os.PathLike[str], *, quantized: bool = False
) -> OnnxModel:
    """Write a bundled model as `model.onnx` with its tokenizer into a new folder, and return it from there.

    The logits are those of the model, up to 1e-4. `mase.models.load(folder)` opens it again, without torch.

    Parameters
    ----------
    name_or_path
        The name of a bundled model, or a folder that `mase train` wrote.
    folder
        Where to write: a folder that does not exist, or is empty.
    quantized
        Whether to store the weights in 8 bits and multiply in 8 bits. The logits are then not those of the model.

    Raises
    ------
    OptionError
        If it is neither a name nor a path.
    UnknownNameError
        If there is no such model.
    DataError
        If the folder has files, or a file cannot be read or written.
    ModelError
        If the exported model gives other logits than the model.
    MissingDependencyError
        If onnx is not installed.
    """
    require("onnx", "onnx")
    place = Path(absolute(Path(folder)))
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise DataError(f"{place} exists already, expected a new folder; choose another name")
    source = bundled.folder(name_or_path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as beside:
            draft = Path(beside) / "model"
            draft.mkdir()
            _write(name_or_path, source, draft, quantized=quantized)
            if place.exists():
                place.rmdir()
            draft.rename(place)
    except OSError as error:
        raise DataError(f"cannot write {place}: {error}") from error
    return read(place)


def _write(name_or_path: str | os.PathLike[str], source: Path, draft: Path, *, quantized: bool) -> None:
    config = read_json(source / "config.json")
    module: nn.Module = bundled.load(name_or_path).module
    names: tuple[str, ...] = ("input_ids",)
    if bundled.is_adapted(name_or_path):
        tokenizer(base_folder(None, config["base"]["name"])).backend_tokenizer.save(str(draft / "tokenizer.json"))
        module, names = _Logits(module), ("input_ids", "attention_mask", "token_type_ids")
    else:
        shutil.copyfile(source / "vocabulary.txt", draft / "vocabulary.txt")
    _write_graph(module, names, draft / FILE)
    _check_equal(module, names, draft / FILE)
    if quantized:
        _quantize(draft / FILE)
    settings = {name: config[name] for name in _SETTINGS}
    (draft / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


class _Logits(nn.Module):
    """A Hugging Face classifier as a function of three tensors `(b, t)` that returns logits `(b, k)`."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.module(input_ids=ids, attention_mask=mask, token_type_ids=types).logits
        return logits


def _inputs(names: tuple[str, ...], ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return ids `(b, t)`, and for the other inputs what an unpadded single text has."""
    values: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "attention_mask": torch.ones_like,
        "token_type_ids": torch.zeros_like,
    }
    return (ids, *(values[name](ids) for name in names[1:]))


def _write_graph(module: nn.Module, names: tuple[str, ...], path: Path) -> None:
    axes = {name: {0: "batch", 1: "tokens"} for name in names} | {"logits": {0: "batch"}}
    with warnings.catch_warnings(), torch.no_grad():
        # The exporter by torch.export fails on an LSTM whose length varies; this one warns that it is the older one.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), _inputs(names, torch.full((2, 5), 2)), str(path), input_names=list(names),
            output_names=["logits"], dynamic_axes=axes, dynamo=False,
        )  # fmt: skip


def _check_equal(module: nn.Module, names: tuple[str, ...], path: Path) -> None:
    """Check that the exported graph gives the logits of the module on inputs of several shapes."""
    session, rng = open_session(path), np.random.default_rng(0)
    for shape in _SHAPES:
        inputs = _inputs(names, torch.as_tensor(rng.integers(2, 1000, shape)))
        with torch.no_grad():
            expected = module(*inputs).numpy()
        (got,) = session.run(None, dict(zip(names, (value.numpy() for value in inputs), strict=True)))
        difference = float(np.abs(got - expected).max())
        if not difference <= TOLERANCE:
            raise ModelError(
                f"the exported model gives logits that differ by {difference:.2g} on inputs of shape {shape}, expected "
                f"at most {TOLERANCE}; use other versions of torch and onnx"
            )


def _quantize(path: Path) -> None:
    """Store the weights of a file in 8 bits, with a scale per channel, without which the logits are far off.

    They use 7 of the bits: sums of two products of 8 bits overflow on processors without VNNI instructions.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_suffix(".float.onnx")
    path.rename(whole)
    with _silent():
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    whole.unlink()


@contextmanager
def _silent() -> Iterator[None]:
    """Silence the advice that onnxruntime logs, which would also configure the user's logging."""
    root, handler = logging.getLogger(), logging.NullHandler()

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    root.addHandler(handler)
    root.addFilter(nothing)
    try:
        yield
    finally:
        root.removeFilter(nothing)
        root.removeHandler(handler)
