"""Check the numbers of a `config.json` before a model is built from them."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.models import limits

__all__ = ["check_numbers", "whole_number"]

_LAYERS = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_encoder_layers",
    "num_decoder_layers", "num_hidden_groups", "inner_group_num",
)  # fmt: skip
_WIDTHS = (
    "hidden_size", "d_model", "n_embd", "dim", "hidden_dim", "embedding_size", "emb_dim", "embedding_dim",
    "intermediate_size", "ffn_dim", "d_ff", "d_inner", "encoder_ffn_dim", "decoder_ffn_dim", "head_dim", "d_kv",
    "d_head", "true_hidden_size", "intra_bottleneck_size",
)  # fmt: skip
_HEADS = (
    "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads",
    "num_key_value_heads",
)  # fmt: skip
_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length")

# The smallest and the largest allowed value of a number with this name.
_RANGES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_LAYERS, (0, limits.LAYERS)),
    **dict.fromkeys(_WIDTHS, (1, limits.WIDTH)),
    **dict.fromkeys(_HEADS, (1, limits.HEADS)),
    **dict.fromkeys(_POSITIONS, (-1, limits.POSITIONS)),  # -1 means no position embeddings
    "vocab_size": (1, limits.VOCABULARY),
    "num_labels": (1, limits.LABELS),
    "_num_labels": (1, limits.LABELS),
    "n_inner": (1, limits.WIDTH),
    "type_vocab_size": (0, limits.VOCABULARY),
}
_MAPS = ("id2label", "label2id")
_INFINITE = "time_step_limit"  # may be infinite: Mamba 2 has [0.0, Infinity]


def check_numbers(path: Path, config: dict[str, Any]) -> None:
    """Check the numbers of a configuration at every level: known sizes by their limits, others by 64 bits.

    Raises
    ------
    DataError
        If a size is not an integer within its limits, or a number is infinite or does not fit into 64 bits.
    """
    for name, value in _numbers(config):
        if name in _RANGES:
            whole_number(path, name, value, *_RANGES[name])
        elif isinstance(value, float):
            if not math.isfinite(value) and name != _INFINITE:
                raise DataError(f"{path} has {name} {value}, expected a finite number")
        elif isinstance(value, int):
            most = limits.COUNT if name.startswith(("num_", "n_")) else 2**63 - 1
            whole_number(path, name, int(value), -most, most)
    for name in _MAPS:
        classes = config.get(name)
        least = 1 if name == "id2label" else 0
        if isinstance(classes, dict) and not least <= len(classes) <= limits.LABELS:
            raise DataError(f"{path} has {len(classes):,} classes in {name}, expected {least} to {limits.LABELS:,}")


def whole_number(path: Path, name: str, value: Any, least: int, most: int) -> int:
    """Return `value` if it is an integer from `least` to `most`.

    Raises
    ------
    DataError
        If it is not.
    """
    if type(value) is not int or not least <= value <= most:
        raise DataError(f"{path} has {name} {value!r:.60}, expected an integer from {least:,} to {most:,}")
    return value


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the scalar values inside an object with their names, at any level, except the names of classes."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _MAPS:
                yield from _numbers(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, name)
    elif value is not None:
        yield name, value
