"""Check the files of a tokenizer before it is built: its output must stay in proportion to the length of a text."""

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.models import limits
from mase.models.document import read_bytes, read_json
from mase.models.pattern import shortest_match

__all__ = ["STEPS", "check_pipeline", "check_tokenizer_config", "check_tokenizer_files"]

# The steps of a tokenizer that are checked.
STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
# Names of vocabulary files in all families, and of chat templates. If there is a tokenizer.json, transformers uses it
# instead of the other vocabularies.
_VOCABULARIES = re.compile(
    r".*(vocab|merges|token|bpe|tekken|spiece|dict|codes|emoji).*\.(txt|json|model|vocab|bpe|tiktoken)|merges|.*\.jinja"
)
_PIECES = ("single", "pair")  # fields of a template that adds tokens around one text, or around two
_HIGHEST_ID = 10 * limits.VOCABULARY  # an entry is created for each unused id below the highest one
_BYTES_OF_CHARACTER = 4
_SURROUNDED = 3  # characters after BERT's normalizer has put an ideograph between spaces


def check_tokenizer_files(folder: Path) -> None:
    """Check the files of a tokenizer: their sizes, and the content of a `tokenizer.json` or a SentencePiece model.

    Raises
    ------
    DataError
        If a file is beyond the limits, or would make a text far longer.
    """
    for path in sorted(folder.iterdir()):
        if _VOCABULARIES.fullmatch(path.name) and path.is_file() and path.stat().st_size > limits.VOCABULARY_BYTES:
            raise DataError(f"{path} has {path.stat().st_size:,} bytes, expected at most {limits.VOCABULARY_BYTES:,}")
    for name in ("special_tokens_map.json", "added_tokens.json"):
        if (folder / name).is_file():
            _check_map(folder / name)
    if (folder / "tokenizer.json").is_file():
        _check_tokenizer_json(folder / "tokenizer.json")
        return
    for path in sorted(folder.glob("*.model")):
        for table in _tables(read_bytes(path, limits.VOCABULARY_BYTES)):
            _check_growth(path, _growth_of_table(path, table))


def check_tokenizer_config(path: Path, config: Mapping[str, Any]) -> None:
    """Check the numbers in a `tokenizer_config.json`: the maximum length, and the tokens that it adds.

    Raises
    ------
    DataError
        If a number is beyond its limits.
    """
    longest = config.get("model_max_length")
    if longest is not None and (type(longest) not in (int, float) or not 1 <= longest < math.inf):
        raise DataError(f"{path} has model_max_length {longest!r:.60}, expected a number of tokens of at least 1")
    added = config.get("added_tokens_decoder") or {}
    if not isinstance(added, dict) or len(added) > limits.ADDED_TOKENS:
        raise DataError(
            f"{path} has an unusable added_tokens_decoder, expected an object of at most {limits.ADDED_TOKENS:,} tokens"
        )
    invalid = next(
        (number for number in added if not re.fullmatch(r"\d{1,8}", number) or int(number) > _HIGHEST_ID), None
    )
    if invalid is not None:
        raise DataError(f"{path} adds a token with the id {invalid!r:.60}, expected an integer up to {_HIGHEST_ID:,}")
    for name in ("additional_special_tokens", "extra_special_tokens"):
        special = config.get(name) or ()
        if not isinstance(special, list | dict | tuple) or len(special) > limits.ADDED_TOKENS:
            raise DataError(f"{path} has unusable {name}, expected a list of at most {limits.ADDED_TOKENS:,} tokens")


def check_pipeline(path: Path, pipeline: Mapping[str, Any]) -> None:
    """Check the steps of a tokenizer: their number, their patterns, and how much they can lengthen a text.

    Raises
    ------
    DataError
        If there are too many steps, a pattern may take very long, or one character may become too many.
    """
    for step in STEPS:
        components = list(_components(pipeline.get(step)))
        if len(components) > limits.COMPONENTS:
            raise DataError(f"{path} has a {step} of {len(components):,} parts, expected at most {limits.COMPONENTS}")
        for component in components:
            _check_component(path, step, component)
    parts = [*_components(pipeline.get("normalizer")), *_components(pipeline.get("pre_tokenizer"))]
    _check_growth(path, math.prod(_growth(path, component) for component in parts))


def _check_tokenizer_json(path: Path) -> None:
    content = read_json(path, limits.VOCABULARY_BYTES, unique=True)
    model = content.get("model") if isinstance(content, dict) else None
    added = content.get("added_tokens") or [] if isinstance(content, dict) else None
    if not isinstance(model, dict) or not isinstance(added, list):
        raise DataError(f"{path} is not a tokenizer, expected an object with a model and a list of added_tokens")
    if len(added) > limits.ADDED_TOKENS:
        raise DataError(f"{path} adds {len(added):,} tokens, expected at most {limits.ADDED_TOKENS:,}")
    _check_model(path, model)
    check_pipeline(path, content)


def _check_model(path: Path, model: Mapping[str, Any]) -> None:
    if "vocab" in model and (not isinstance(model["vocab"], list | dict) or len(model["vocab"]) > limits.VOCABULARY):
        raise DataError(
            f"{path} has an unusable vocab, expected a list or object of at most {limits.VOCABULARY:,} entries"
        )
    longest = model.get("max_input_chars_per_word")
    if longest is not None and (type(longest) is not int or not 0 <= longest <= limits.WORD_CHARACTERS):
        raise DataError(
            f"{path} has max_input_chars_per_word {longest!r:.60}, expected an integer up to {limits.WORD_CHARACTERS:,}"
        )
    for name, value in model.items():
        if isinstance(value, str) and len(value) > limits.STRING:
            raise DataError(f"{path} has a {name} of {len(value):,} characters, expected at most {limits.STRING:,}")


def _check_map(path: Path) -> None:
    tokens = read_json(path)
    if not isinstance(tokens, dict) or len(tokens) > limits.ADDED_TOKENS:
        raise DataError(f"{path} has unusable tokens, expected an object of at most {limits.ADDED_TOKENS:,} tokens")
    if path.name == "special_tokens_map.json":
        check_tokenizer_config(path, tokens)


def _components(step: Any) -> Iterator[dict[str, Any]]:
    """Yield a step and, if it is a sequence, its parts in their order.

    The kind of a part is inferred from its fields, because `tokenizers` also reads parts without a known type.
    """
    if isinstance(step, dict):
        lists = [value for name, value in step.items() if name not in _PIECES and isinstance(value, list)]
        yield step
        for value in lists:
            for part in value:
                yield from _components(part)


def _check_component(path: Path, step: str, component: dict[str, Any]) -> None:
    pattern = component.get("pattern")
    expression = pattern.get("Regex") if isinstance(pattern, dict) else None
    if isinstance(expression, str):
        try:
            shortest_match(expression)
        except ValueError as error:
            raise DataError(
                f"{path} has the regular expression {expression!r:.60} in its {step}: {error}, so that matching could "
                "take very long, expected a simpler one; load the tokenizer yourself and pass it with the module"
            ) from error
    if "special_tokens" in component:
        _check_template(path, component)


def _check_template(path: Path, template: Mapping[str, Any]) -> None:
    specials = template.get("special_tokens")
    tokens = specials.values() if isinstance(specials, dict) else ()
    n_ids = sum(len(token["ids"]) for token in tokens if isinstance(token, dict) and isinstance(token.get("ids"), list))
    for name in _PIECES:
        pieces = template.get(name) or ()
        texts = [json.dumps(piece["Sequence"]) for piece in pieces if isinstance(piece, dict) and "Sequence" in piece]
        if len(pieces) > limits.COMPONENTS or n_ids > limits.PARTS or len(set(texts)) < len(texts):
            raise DataError(
                f"{path} adds {len(pieces):,} pieces and {n_ids:,} ids around a text, expected at most "
                f"{limits.COMPONENTS} and {limits.PARTS:,}, and the text itself only once"
            )


def _growth(path: Path, component: Mapping[str, Any]) -> float:
    """Return the largest number of characters that a part may produce per input character.

    Unicode normal forms count as 1, because their growth is bounded.
    """
    growth = 1.0
    if "content" in component:  # Replace
        growth *= max(1.0, _text_length(component["content"]) / _least_length(component.get("pattern")))
    if "prepend" in component:  # Prepend
        growth *= 1 + _text_length(component["prepend"])
    if "precompiled_charsmap" in component:  # Precompiled
        growth *= _growth_of_table(path, _decoded(path, component["precompiled_charsmap"]))
    if "handle_chinese_chars" in component:  # BertNormalizer
        growth *= _SURROUNDED
    if "replacement" in component:  # Metaspace
        growth *= 2
    elif "trim_offsets" in component or component.get("type") == "ByteLevel":
        growth *= _BYTES_OF_CHARACTER * (2 if component.get("add_prefix_space", True) else 1)
    return growth


def _text_length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


def _least_length(pattern: Any) -> float:
    """Return the length of the shortest text that a pattern matches; 0.5 if it may be empty.

    An empty text matches between all characters, so there are about two matches per character.
    """
    if not isinstance(pattern, dict):
        return 1
    length = shortest_match(pattern["Regex"]) if "Regex" in pattern else _text_length(pattern.get("String"))
    return length or 0.5


def _decoded(path: Path, table: Any) -> bytes:
    try:
        return base64.b64decode(table or b"")
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} has an unusable precompiled_charsmap, expected base64: {error}") from error


def _growth_of_table(path: Path, table: bytes) -> int:
    """Return the length of the longest replacement text in a character table of SentencePiece.

    The table is a search tree, followed by texts that end with a 0.
    """
    size = int.from_bytes(table[:4], "little")
    if size > len(table):
        raise DataError(f"{path} has a precompiled_charsmap of {len(table):,} bytes, expected {size:,}")
    return max(1, *(len(text.decode("utf-8", "replace")) for text in table[4 + size :].split(b"\0")), 1)


def _check_growth(path: Path, growth: float) -> None:
    if growth > limits.GROWTH:
        raise DataError(
            f"{path} may turn one character into {growth:,.0f}, expected at most {limits.GROWTH}; load the tokenizer "
            "yourself and pass it with the module"
        )


def _tables(model: bytes) -> Iterator[bytes]:
    """Yield the character tables in a SentencePiece model; none if the file is not such a model."""
    try:
        for number, normalizer in _fields(model):
            if number in (3, 5):  # normalizer_spec, denormalizer_spec
                yield from (table for inner, table in _fields(normalizer) if inner == 2)  # precompiled_charsmap
    except IndexError:
        return


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the numbers and contents of the length-delimited fields of a Protocol Buffers message."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        kind, length = key & 7, {1: 8, 5: 4}.get(key & 7, 0)
        if kind == 0:
            _, position = _varint(message, position)
        elif kind == 2:
            length, position = _varint(message, position)
            yield key >> 3, message[position : position + length]
        elif kind not in (1, 5):
            raise IndexError(kind)
        position += length


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the integer of variable length at a position, and the position after it."""
    value, shift = 0, 0
    while message[position] & 0x80:
        value |= (message[position] & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if shift > 63:
            raise IndexError(position)
    return value | message[position] << shift, position + 1
