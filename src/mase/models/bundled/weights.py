"""Weights of the bundled models: read with safetensors only, which executes nothing."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from mase.errors import DataError
from mase.models.weights import tensors

__all__ = ["read_tensors"]


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
