"""Read the weights of the bundled models, in the safetensors format only, which cannot contain code."""

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
        If the file cannot be read or is beyond the limits.
    """
    tensors(path)  # checks the header against the limits
    try:
        return load_file(path)  # type: ignore[no-any-return]
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from error
