"""The files of a tokenizer, checked before it is built: what it makes of a text must stay in proportion to the text."""

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

# What a text goes through, or could.
STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
# Files with a vocabulary, whatever the family calls them; transformers takes tokenizer.json where there is one.
_VOCABULARIES = re.compile(
    r".*(vocab|merges|token|bpe|tekken|spiece|dict|codes|emoji).*\.(txt|json|model|vocab|bpe|tiktoken)|merges"
)
_PIECES = ("single", "pair")  # of a template that is put around one text, or two
_HIGHEST_ID = 10 * limits.VOCABULARY  # gaps in numbering are filled with names
_BYTES_OF_CHARACTER = 4
_SURROUNDED = 3  # characters that BERT's normalizer makes of an ideograph, which it puts between spaces


def check_tokenizer_files(folder: Path) -> None:
    """Check the files that a tokenizer is built from: sizes, and what is in a `tokenizer.json` or a SentencePiece model.

    Raises
    ------
    DataError
        If a file is beyond the limits, or would make far more of a text than there is.
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
    """Check the numbers in a `tokenizer_config.json`: the longest text, and the tokens that it adds.

    Raises
    ------
    DataError
        If one is beyond its limits.
    """
    longest = config.get("model_max_length")
    if longest is not None and (type(longest) not in (int, float) or not 1 <= longest < math.inf):
        raise DataError(f"{path} has model_max_length {longest!r:.60}, expected a number of tokens of at least 1")
    added = config.get("added_tokens_decoder") or {}
    if not isinstance(added, dict) or len(added) > limits.ADDED_TOKENS:
        raise DataError(f"{path} adds too many tokens, or no object of them, expected at most {limits.ADDED_TOKENS:,}")
    strange = next(
        (number for number in added if not re.fullmatch(r"\d{1,8}", number) or int(number) > _HIGHEST_ID), None
    )
    if strange is not None:
        raise DataError(f"{path} adds a token with the id {strange!r:.60}, expected one of at most {_HIGHEST_ID:,}")
    for name in ("additional_special_tokens", "extra_special_tokens"):
        given = config.get(name) or ()
        if not isinstance(given, list | dict | tuple) or len(given) > limits.ADDED_TOKENS:
            raise DataError(f"{path} has too many {name}, or no list of them, expected at most {limits.ADDED_TOKENS:,}")


def check_pipeline(path: Path, pipeline: Mapping[str, Any]) -> None:
    """Check the steps of a tokenizer: their number, their patterns, and how long they can make a text.

    Raises
    ------
    DataError
        If they are too many, a pattern may search for very long, or one character may become too many.
    """
    for step in STEPS:
        found = list(_components(pipeline.get(step)))
        if len(found) > limits.COMPONENTS:
            raise DataError(f"{path} has a {step} of {len(found):,} parts, expected at most {limits.COMPONENTS}")
        for component in found:
            _check_component(path, step, component)
    parts = [*_components(pipeline.get("normalizer")), *_components(pipeline.get("pre_tokenizer"))]
    _check_growth(path, math.prod(_growth(path, component) for component in parts))


def _check_tokenizer_json(path: Path) -> None:
    content = read_json(path, limits.VOCABULARY_BYTES, unique=True)
    model = content.get("model") if isinstance(content, dict) else None
    added = content.get("added_tokens") or [] if isinstance(content, dict) else None
    if not isinstance(model, dict) or not isinstance(added, list):
        raise DataError(f"{path} is no tokenizer, expected an object with a model and a list of added_tokens")
    if len(added) > limits.ADDED_TOKENS:
        raise DataError(f"{path} adds {len(added):,} tokens, expected at most {limits.ADDED_TOKENS:,}")
    _check_model(path, model)
    check_pipeline(path, content)


def _check_model(path: Path, model: Mapping[str, Any]) -> None:
    if "vocab" in model and (not isinstance(model["vocab"], list | dict) or len(model["vocab"]) > limits.VOCABULARY):
        raise DataError(f"{path} has no vocabulary of at most {limits.VOCABULARY:,} entries")
    longest = model.get("max_input_chars_per_word")
    if longest is not None and (type(longest) is not int or not 0 <= longest <= limits.WORD_CHARACTERS):
        raise DataError(
            f"{path} has max_input_chars_per_word {longest!r:.60}, expected a whole number up to {limits.WORD_CHARACTERS:,}"
        )
    for name, value in model.items():
        if isinstance(value, str) and len(value) > limits.STRING:
            raise DataError(f"{path} has a {name} of {len(value):,} characters, expected at most {limits.STRING:,}")


def _check_map(path: Path) -> None:
    found = read_json(path)
    if not isinstance(found, dict) or len(found) > limits.ADDED_TOKENS:
        raise DataError(f"{path} is no object of at most {limits.ADDED_TOKENS:,} tokens")
    if path.name == "special_tokens_map.json":
        check_tokenizer_config(path, found)


def _components(step: Any) -> Iterator[dict[str, Any]]:
    """Yield a step and, if it is a sequence, its parts in their order.

    What a part is shows in its fields alone: `tokenizers` also reads parts whose type is missing or unknown.
    """
    if isinstance(step, dict):
        inner = [
            one for name, value in step.items() if name not in _PIECES and isinstance(value, list) for one in value
        ]
        yield step
        for one in inner:
            yield from _components(one)


def _check_component(path: Path, step: str, component: dict[str, Any]) -> None:
    pattern = component.get("pattern")
    expression = pattern.get("Regex") if isinstance(pattern, dict) else None
    if isinstance(expression, str):
        try:
            shortest_match(expression)
        except ValueError as error:
            raise DataError(
                f"{path} has the regular expression {expression!r:.60} in its {step}: {error}, so that it could take very "
                "long; load the tokenizer yourself and pass it with the module"
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
                f"{path} puts {len(pieces):,} pieces and {n_ids:,} ids around a text, expected at most {limits.COMPONENTS} and "
                f"{limits.PARTS:,}, and the text itself once"
            )


def _growth(path: Path, component: Mapping[str, Any]) -> float:
    """Return how many characters a part may make of one; the normal forms of Unicode, which are bounded, count as one."""
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
    """Return the length of the shortest text that is replaced; an empty one stands at every place, beside each character."""
    if not isinstance(pattern, dict):
        return 1
    found = shortest_match(pattern["Regex"]) if "Regex" in pattern else _text_length(pattern.get("String"))
    return found or 0.5


def _decoded(path: Path, table: Any) -> bytes:
    try:
        return base64.b64decode(table or b"")
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} has a precompiled_charsmap that is not base64: {error}") from error


def _growth_of_table(path: Path, table: bytes) -> int:
    """Return the length of the longest text in a table of SentencePiece: a search tree, and the texts that end with a 0."""
    size = int.from_bytes(table[:4], "little")
    if size > len(table):
        raise DataError(f"{path} has a precompiled_charsmap of {len(table):,} bytes, expected {size:,}")
    return max(1, *(len(text.decode("utf-8", "replace")) for text in table[4 + size :].split(b"\0")), 1)


def _check_growth(path: Path, growth: float) -> None:
    if growth > limits.GROWTH:
        raise DataError(
            f"{path} may make {growth:,.0f} characters of one, expected at most {limits.GROWTH}; load the tokenizer yourself "
            "and pass it with the module"
        )


def _tables(model: bytes) -> Iterator[bytes]:
    """Yield the tables of characters in a SentencePiece model; none if it is no such file."""
    try:
        for number, normalizer in _fields(model):
            if number in (3, 5):  # normalizer_spec, denormalizer_spec
                yield from (table for inner, table in _fields(normalizer) if inner == 2)  # precompiled_charsmap
    except IndexError:
        return


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the numbers and contents of the fields with a length in a message of Protocol Buffers.

    Raises
    ------
    IndexError
        If it is none.
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind, length = key & 7, {1: 8, 5: 4}.get(key & 7, 0)
        if kind == 0:
            _, place = _varint(message, place)
        elif kind == 2:
            length, place = _varint(message, place)
            yield key >> 3, message[place : place + length]
        elif kind not in (1, 5):
            raise IndexError(kind)
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while message[place] & 0x80:
        value |= (message[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if shift > 63:
            raise IndexError(place)
    return value | message[place] << shift, place + 1
