"""What in a model folder would run code, or take other files than the ones that are checked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mase.errors import DataError

__all__ = ["check_no_code", "check_no_detours", "refused"]

# Attention and experts that transformers has built in. Other names, "owner/name" above all, are fetched from the hub
# and run.
_BUILT_IN = (None, True, False, "eager", "sdpa", "flex_attention", "grouped_mm", "batched_mm")
_IMPLEMENTATION = re.compile(r"_?(attn|experts)_implementation(_internal|_autoset)?")
# A key that names the function, or the packages, to run the weights with.
_QUANTIZED = ("quantization_config", "compression_config")
# Keys that point transformers to another file than the ones that are checked here, or replace what they hold.
_DETOURS = (
    "configuration_files", "fast_tokenizer_files", "transformers_weights", "gguf_file", "tokenizer_object", "vocab", "merges",
    "kernel_config", "distributed_config", "fusion_config",
)  # fmt: skip
_DTYPE = re.compile(r"(torch\.)?(auto|half|float|double|b?float\d+(_\w+)?|u?int\d+)")
_DISTRIBUTED = re.compile(r"shard-\d+-model-\d+-of-\d+\.safetensors")


def refused(path: Path, what: str) -> DataError:
    """Return the error for a folder that would run code; it says how to go on."""
    return DataError(
        f"{path} {what}, expected a model that transformers has: such code runs with all of your rights; read it, then load "
        "the model yourself and pass the module and its tokenizer, or say trust_remote_code=True (mase explain "
        "--trust-remote-code)"
    )


def check_no_code(path: Path, config: dict[str, Any]) -> None:
    """Check that a `config.json` or `tokenizer_config.json` asks for no code but that of transformers, at any level.

    Raises
    ------
    DataError
        If it does.
    """
    for name, value in _entries(config):
        if name == "auto_map" and value:
            raise refused(path, f"names code of its own under 'auto_map' ({value!r:.80})")
        if name in _QUANTIZED and value is not None:
            raise refused(path, f"has a {name}, whose weights other packages would have to run")
        if _IMPLEMENTATION.fullmatch(name):
            asked = value.values() if isinstance(value, dict) else [value]
            strange = next((one for one in asked if one not in _BUILT_IN), None)
            if strange is not None:
                raise refused(path, f"has {name} {strange!r:.60}, which may be fetched and run")


def check_no_detours(folder: Path, path: Path, config: dict[str, Any]) -> None:
    """Check that a configuration file takes nothing from files that are not checked, and no type that is none.

    Raises
    ------
    DataError
        If it does, or the folder holds an adapter, or weights in parts that only several processes can put together.
    """
    for name, value in _entries(config):
        if name in _DETOURS and value is not None:
            raise DataError(f"{path} has {name} {value!r:.60}, expected none: only the usual files of a model are read")
        if name in ("dtype", "torch_dtype") and isinstance(value, str) and not _DTYPE.fullmatch(value):
            raise DataError(f"{path} has {name} {value!r:.60}, expected the name of a type of numbers, as in 'float32'")
    if (folder / "adapter_config.json").exists():
        raise DataError(
            f"{folder} has an adapter_config.json, expected a whole model: load base and adapter with peft, then pass the "
            "module and its tokenizer, or save what merge_and_unload() returns"
        )
    strange = next((found.name for found in folder.iterdir() if _DISTRIBUTED.fullmatch(found.name)), None)
    if strange is not None:
        raise DataError(
            f"{folder} has {strange}, expected model.safetensors, or its parts and model.safetensors.index.json"
        )


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all objects below a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from _entries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _entries(inner)
