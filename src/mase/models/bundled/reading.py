"""Weights of the bundled models: read with safetensors only, which executes nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from mase.errors import DataError
from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
from mase.models.weights import tensors

__all__ = ["read_module", "read_tensors"]


def read_module(path: Path, config: Mapping[str, Any], n_words: int) -> LSTMClassifier:
    """Return the classifier whose weights are at `path`, float32, in evaluation mode, no gradients asked of it.

    Raises
    ------
    DataError
        If the weights cannot be read or do not fit the configuration and a vocabulary of `n_words`.
    """
    shape = LSTMShape(n_words, len(config["labels"]), config["embedding_width"], config["hidden_width"], config["pool"])
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced at once
        module = LSTMClassifier(shape)
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    got = tensors(path)
    if got != expected:
        wrong = {name: (got.get(name), expected.get(name)) for name in got | expected if got.get(name) != expected.get(name)}
        listed = "; ".join(f"{name:.60} {has}, expected {wants}" for name, (has, wants) in sorted(wrong.items())[:8])
        raise DataError(f"{path} does not fit its config.json and vocabulary.txt of {n_words} entries: {listed}")
    state = {name: tensor.to(torch.float32) for name, tensor in read_tensors(path).items()}
    module.load_state_dict(state, assign=True)
    return module.requires_grad_(requires_grad=False).eval()


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a safetensors file.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    tensors(path)  # its limits
    try:
        return load_file(path)  # type: ignore[no-any-return]
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from error
