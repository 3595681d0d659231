"""What a folder, or a name of the Hugging Face hub, gives: a tokenizer that really was saved there."""

import os
from pathlib import Path
from typing import Any

import transformers
from safetensors import SafetensorError

from mase.errors import DataError

__all__ = ["UNREADABLE", "read_tokenizer"]

# What transformers raises for files that are missing, damaged or do not fit each other.
UNREADABLE = (OSError, ValueError, RuntimeError, SafetensorError)


def read_tokenizer(source: str | os.PathLike[str], *, local: bool) -> Any:
    """Return the tokenizer of a folder or name, from this machine only if `local`.

    Raises
    ------
    DataError
        If it cannot be loaded, or the folder has none: transformers then makes up one that knows no word.
    """
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=local)
    except UNREADABLE as error:
        raise DataError(f"cannot load a tokenizer from {os.fspath(source)!r}: {error}") from error
    files = {*getattr(tokenizer, "vocab_files_names", {}).values(), "tokenizer.json", "tokenizer.model"}
    folder = Path(source)
    if folder.is_dir() and not any((folder / file).is_file() for file in files):
        raise DataError(
            f"{os.fspath(source)!r} has no tokenizer, expected one of {', '.join(sorted(files))}; save it beside the model "
            "with tokenizer.save_pretrained"
        )
    return tokenizer
