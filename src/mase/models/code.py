"""Find entries of a model folder that would run code, or read files that are not checked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mase.errors import DataError

__all__ = ["check_complete", "check_no_code", "check_no_detours", "refused"]

# Implementations of attention and experts that are built into transformers. Any other name, such as "owner/name", may
# be fetched from the hub and run.
_BUILT_IN = (None, True, False, "eager", "sdpa", "flex_attention", "grouped_mm", "batched_mm")
_IMPLEMENTATION = re.compile(r"_?(attn|experts)_implementation(_internal|_autoset)?")
# Keys that name the function or the package with which the weights are run.
_QUANTIZED = ("quantization_config", "compression_config")
# Keys that make transformers read files that are not checked here, or replace their content.
_DETOURS = (
    "configuration_files", "fast_tokenizer_files", "transformers_weights", "gguf_file", "tokenizer_object", "vocab",
    "merges", "kernel_config", "distributed_config", "fusion_config",
)  # fmt: skip
_DTYPE = re.compile(r"(torch\.)?(auto|half|float|double|b?float\d+(_\w+)?|u?int\d+)")
_DISTRIBUTED = re.compile(r"shard-\d+-model-\d+-of-\d+\.safetensors")


def refused(path: Path, what: str) -> DataError:
    """Return the error, with its remedy, for a folder that would run code."""
    return DataError(
        f"{path} {what}, expected a model that is part of transformers: other code runs with all of your rights; read "
        "it, then load the model yourself and pass the module and its tokenizer, or pass trust_remote_code=True "
        "(mase explain --trust-remote-code)"
    )


def check_no_code(path: Path, config: dict[str, Any]) -> None:
    """Check that a `config.json` or `tokenizer_config.json` needs only the code of transformers, at any level.

    Raises
    ------
    DataError
        If it needs other code.
    """
    for name, value in _entries(config):
        if name == "auto_map" and value:
            raise refused(path, f"names code of its own under 'auto_map' ({value!r:.80})")
        if name in _QUANTIZED and value is not None:
            raise refused(path, f"has a {name}, so that the weights need the code of another package")
        if _IMPLEMENTATION.fullmatch(name):
            implementations = value.values() if isinstance(value, dict) else [value]
            unknown = next((name for name in implementations if name not in _BUILT_IN), None)
            if unknown is not None:
                raise refused(path, f"has {name} {unknown!r:.60}, which may be fetched and run")


def check_no_detours(path: Path, config: dict[str, Any]) -> None:
    """Check that a configuration does not refer to unchecked files, and that its data types are names of number types.

    Raises
    ------
    DataError
        If it does not pass.
    """
    for name, value in _entries(config):
        if name in _DETOURS and value is not None:
            raise DataError(f"{path} has {name} {value!r:.60}, expected none: only standard model files are read")
        if name in ("dtype", "torch_dtype") and isinstance(value, str) and not _DTYPE.fullmatch(value):
            raise DataError(f"{path} has {name} {value!r:.60}, expected the name of a number type such as 'float32'")


def check_complete(folder: Path) -> None:
    """Check that a folder holds a complete model.

    Raises
    ------
    DataError
        If it holds a model with an adapter, or weights that only several processes can load together.
    """
    if (folder / "adapter_config.json").exists():
        raise DataError(
            f"{folder} has an adapter_config.json, expected a complete model: load base and adapter with peft, then "
            "pass the module and its tokenizer, or save the result of merge_and_unload()"
        )
    shard = next((path.name for path in folder.iterdir() if _DISTRIBUTED.fullmatch(path.name)), None)
    if shard is not None:
        raise DataError(
            f"{folder} has {shard}, expected model.safetensors, or its parts and model.safetensors.index.json"
        )


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all objects inside a value, at any level."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _entries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner)
