"""Weights of the bundled models: read with safetensors only, which executes nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from mase.errors import DataError
from mase.models.bundled.lstm import LSTMClassifier, LSTMShape

__all__ = ["read_module"]


def read_module(path: Path, config: Mapping[str, Any], n_words: int) -> LSTMClassifier:
    """Return the classifier whose weights are at `path`, float32, in evaluation mode, no gradients asked of it.

    Raises
    ------
    DataError
        If the weights cannot be read or do not fit the configuration and a vocabulary of `n_words`.
    """
    try:
        state = {name: tensor.to(torch.float32) for name, tensor in load_file(path).items()}
    except (SafetensorError, OSError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from error
    shape = LSTMShape(n_words, len(config["labels"]), config["embedding_width"], config["hidden_width"], config["pool"])
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced at once
        module = LSTMClassifier(shape)
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    got = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if got != expected:
        wrong = {name: (got.get(name), expected.get(name)) for name in got | expected if got.get(name) != expected.get(name)}
        listed = "; ".join(f"{name} {has}, expected {wants}" for name, (has, wants) in sorted(wrong.items()))
        raise DataError(f"{path} does not fit its config.json and vocabulary.txt of {n_words} entries: {listed}")
    module.load_state_dict(state, assign=True)
    return module.requires_grad_(requires_grad=False).eval()
