"""Files that others made, read within written limits.

Each limit is well above the largest published model that we know of, so that no legitimate folder is refused. Each
limit is also low enough that reading a folder takes at most seconds, and some hundred megabytes besides the weights.
"""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mase.errors import DataError

# --- files in JSON ----------------------------------------------------------------------------------------------------
# config.json, tokenizer_config.json and similar files. The largest known one, with 20,000 classes, has 2 MB.
JSON_BYTES = 8 << 20
VOCABULARY_BYTES = 64 << 20  # tokenizer.json, vocab.txt, tokenizer.model, ...: Gemma 3 has 33 MB
BYTES_OF_VALUE = 8  # a file may hold one value per 8 bytes of its size limit, because each value takes memory
DEPTH = 32  # nesting of objects and lists: the deepest known file has 8 levels
DIGITS = 40  # digits of an integer: transformers writes 10 ** 30 for "no limit"

# --- config.json ------------------------------------------------------------------------------------------------------
LAYERS = 1_000  # Llama 3.1 405B has 126
WIDTH = 1 << 20  # hidden or inner width of a layer: Llama 3.1 405B has 53,248
HEADS = 4_096  # Llama 3.1 405B has 128
VOCABULARY = 1 << 22  # XLM-V has 901,629 entries
POSITIONS = 1 << 24  # Llama 4 Scout has 10,485,760
LABELS = 100_000  # published classifiers, also for extreme classification, have fewer
COUNT = 1 << 24  # any other count: building the configuration may loop that many times

# --- weights ----------------------------------------------------------------------------------------------------------
HEADER_BYTES = 64 << 20  # header of a safetensors file: the headers of DeepSeek-V3 have 9 MB in total
TENSORS = 200_000  # tensors in all files together: DeepSeek-V3 has 91,991
DIMENSIONS = 16  # dimensions of a tensor: convolutions have 5
ONNX_BYTES = 2 << 30  # a file of ONNX: more does not fit into a message of Protocol Buffers
SHARDS = 2_000  # weight files of one model: Llama 3.1 405B has 191

# A model cannot have many more numbers than its files store: at most TIMES the stored numbers plus SPARE. The factor
# is for weights that are shared after building (mT5 builds its word vectors three times). The spare numbers are for
# attention masks and an untrained head.
NUMBERS_TIMES, NUMBERS_SPARE = 4, 1 << 24
MODULES_TIMES, MODULES_SPARE = 10, 2_000  # the same for modules: common models have one or two per stored tensor

# --- tokenizers -------------------------------------------------------------------------------------------------------
ADDED_TOKENS = 200_000  # speech models add 65,536
COMPONENTS = 100  # steps of a normalizer, pre-tokenizer, post-processor or decoder: DeepSeek has 4
PARTS = 1_000  # special tokens that are added around a text: 2 are common
STRING = 1_000  # characters of a prefix, a suffix or the unknown token
WORD_CHARACTERS = 1_000  # longest word that WordPiece splits, in cubic time: BERT has 100
GROWTH = 256  # output characters per input character: XLM-R's table gives up to 18, and the next step doubles them
TOKENS_TIMES, TOKENS_SPARE = 16, 64  # tokens per character, and tokens around a text: byte-level BPE has up to 4

# --- regular expressions of tokenizers --------------------------------------------------------------------------------
PATTERN_CHARACTERS = 10_000  # length of a pattern: the longest published ones have some hundred characters
PATTERN_NESTING = 16  # nesting of groups: published patterns have up to 3 levels
PATTERN_WAYS = 256  # ways to match at one position, not counting unbounded repeats: GPT-4o's pattern has about 40
PATTERN_REPEATS = 2  # consecutive unbounded repeats: matching time grows as the text length to this power


def is_folder(path: Path) -> bool:
    """Return whether the folder exists; a string that cannot be a path (too long, or with a NUL) is no folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Return whether it is a regular file; a string that cannot be a path (too long, or with a NUL) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_taken(name: str) -> bool:
    """Return whether a file of any kind, or a broken link, has this name."""
    try:
        return os.path.lexists(name)
    except ValueError:
        return False


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes."""
    try:
        if not path.is_file():
            raise DataError(
                f"cannot read {path}: {'it is not a regular file' if path.exists() else 'it does not exist'}, "
                "expected a file"
            )
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path}: {error}") from error
    if len(content) > most:
        raise DataError(f"{path} has more than {most:,} bytes, expected no more, as in all known models")
    return content


def read_text(path: Path, most: int) -> str:
    """Return the content of a UTF-8 file of at most `most` bytes."""
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"cannot read {path}: byte {error.start} is not valid UTF-8; convert the file to UTF-8"
        ) from error


def read_json(path: Path, most: int = JSON_BYTES, *, unique: bool = False) -> Any:
    """Return the content of a JSON file of at most `most` bytes.

    Parameters
    ----------
    path, most
        The file and its largest size in bytes.
    unique
        Whether a duplicate name in an object is an error. Parsers do not agree on which of the two values counts.
    """
    text = read_text(path, most)
    if sum(map(text.count, ",[{")) > (values := most // BYTES_OF_VALUE):
        raise DataError(f"{path} has more than {values:,} values, expected no more, as in all known models")
    try:
        content = json.loads(
            text,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_constant,
            object_pairs_hook=_unique if unique else dict,
        )
    except RecursionError as error:
        raise _too_deep(path) from error
    except ValueError as error:
        raise DataError(f"cannot read {path}: it is not JSON ({error})") from error
    _check_depth(path, content)
    return content


def _too_deep(path: Path) -> DataError:
    return DataError(f"{path} has more than {DEPTH} levels of nesting, expected no more, as in all known models")


def _check_depth(path: Path, value: Any) -> None:
    level = [value]
    for _ in range(DEPTH + 1):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for values in inner for item in values if isinstance(item, dict | list)]
        if not level:
            return
    raise _too_deep(path)


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"an integer has {len(digits)} digits, expected at most {DIGITS}")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits:.40} is too large for a floating-point number")
    return value


def _constant(name: str) -> float:
    if name == "Infinity":
        return float(name)
    raise ValueError(f"{name} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.60} occurs twice in an object")
    return values


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
    **dict.fromkeys(_LAYERS, (0, LAYERS)),
    **dict.fromkeys(_WIDTHS, (1, WIDTH)),
    **dict.fromkeys(_HEADS, (1, HEADS)),
    **dict.fromkeys(_POSITIONS, (-1, POSITIONS)),  # -1 means no position embeddings
    "vocab_size": (1, VOCABULARY),
    "num_labels": (1, LABELS),
    "_num_labels": (1, LABELS),
    "n_inner": (1, WIDTH),
    "type_vocab_size": (0, VOCABULARY),
}

_MAPS = ("id2label", "label2id")
_INFINITE = "time_step_limit"  # may be infinite: Mamba 2 has [0.0, Infinity]


def check_numbers(path: Path, config: dict[str, Any]) -> None:
    """Check the numbers of a configuration at every level: known sizes by their limits, others by 64 bits."""
    for name, value in _numbers(config):
        if name in _RANGES:
            whole_number(path, name, value, *_RANGES[name])
        elif isinstance(value, float):
            if not math.isfinite(value) and name != _INFINITE:
                raise DataError(f"{path} has {name} {value}, expected a finite number")
        elif isinstance(value, int):
            most = COUNT if name.startswith(("num_", "n_")) else 2**63 - 1
            whole_number(path, name, int(value), -most, most)
    for name in _MAPS:
        classes = config.get(name)
        least = 1 if name == "id2label" else 0
        if isinstance(classes, dict) and not least <= len(classes) <= LABELS:
            raise DataError(f"{path} has {len(classes):,} classes in {name}, expected {least} to {LABELS:,}")


def whole_number(path: Path, name: str, value: Any, least: int, most: int) -> int:
    """Return `value` if it is an integer from `least` to `most`."""
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
