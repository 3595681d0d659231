"""The tokenizer of a folder, checked before it is built.

The engine of `tokenizers` (Oniguruma) tries one way to match after the other. A repeat inside a repeat, or many choices
in a row, give exponentially many ways. Published tokenizers use much simpler patterns. A pattern with an element that
this module does not know is refused.
"""

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mase.errors import DataError, MaseError
from mase.models import limits
from mase.models.limits import read_bytes, read_json

_MANY = math.inf
_FLAGS = frozenset("imsad-")
_ASSERTIONS = ("?=", "?!", "?<=", "?<!")
_REFERENCES = frozenset("123456789kg")
_ANCHORS = frozenset("bBAzZGK")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern.

    Attributes
    ----------
    least, most
        The shortest and the longest text that it can match.
    ways
        The number of ways to match at one position, not counting unbounded repeats.
    repeats
        The number of unbounded repeats that may follow each other.
    size
        The length of the part with all counted repeats written out.
    fails
        Whether it can fail to match.
    """

    least: float
    most: float
    ways: float = 1
    repeats: int = 0
    size: float = 1
    fails: bool = True


_NOTHING = _Part(0, 0, fails=False)
_CHARACTER = _Part(1, 1)
_ANCHOR = _Part(0, 0)


def shortest_match(pattern: str) -> int:
    """Return the length of the shortest match of a pattern, after checking that matching takes reasonable time.

    Examples
    --------
    >>> shortest_match(r"'s| ?[^\\s\\d]+|\\s+(?!\\S)|\\s+")
    1
    >>> shortest_match("(a+)+b")
    Traceback (most recent call last):
    ...
    ValueError: it repeats something that can match in several ways
    """
    if len(pattern) > limits.PATTERN_CHARACTERS:
        raise ValueError(f"it has {len(pattern):,} characters, expected at most {limits.PATTERN_CHARACTERS:,}")
    reader = _Reader(pattern)
    part = reader.alternatives(0)
    if reader.rest:
        raise ValueError(f"it closes a group that was not opened, at {reader.rest[:10]!r}")
    return int(part.least)


@dataclass(slots=True)
class _Reader:
    """A recursive-descent parser: a pattern and the position that is read next."""

    pattern: str
    position: int = 0

    @property
    def rest(self) -> str:
        return self.pattern[self.position : self.position + 20]

    def take(self, n: int = 1) -> str:
        text = self.pattern[self.position : self.position + n]
        if len(text) < n:
            raise ValueError("it ends too early")
        self.position += n
        return text

    def skip(self, text: str) -> bool:
        follows = self.pattern.startswith(text, self.position)
        self.position += len(text) * follows
        return follows

    def alternatives(self, nesting: int) -> _Part:
        if nesting > limits.PATTERN_NESTING:
            raise ValueError(f"it has groups with more than {limits.PATTERN_NESTING} levels of nesting")
        branches = [self.sequence(nesting)]
        while self.skip("|"):
            branches.append(self.sequence(nesting))
        return _either(branches)

    def sequence(self, nesting: int) -> _Part:
        part = _NOTHING
        while self.rest and self.rest[0] not in "|)":
            part = _then(part, self.repeated(self.atom(nesting)))
        return part

    def atom(self, nesting: int) -> _Part:
        character = self.take()
        if character == "(":
            return self.group(nesting)
        if character == "[":
            self.character_class(nesting)
            return _CHARACTER
        if character == "\\":
            return self.escape()
        if character in "*+?":
            raise ValueError(f"it has nothing to repeat before {character!r}")
        return _ANCHOR if character in "^$" else _CHARACTER

    def group(self, nesting: int) -> _Part:
        asserts = any(self.skip(start) for start in sorted(_ASSERTIONS, key=len, reverse=True))
        if not asserts and not self.skip("?:") and not self.skip("?>") and self.skip("?"):
            self.named_or_flags()
            if self.skip(")"):  # (?i) applies to the rest of the pattern
                return _NOTHING
        inner = self.alternatives(nesting + 1)
        if not self.skip(")"):
            raise ValueError("it has a group that is not closed")
        return _Part(0, 0, inner.ways, inner.repeats, inner.size) if asserts else inner

    def named_or_flags(self) -> None:
        if self.skip("<"):
            while self.take() != ">":
                pass
            return
        flags = ""
        while self.rest and self.rest[0] not in ":)":
            flags += self.take()
        if not flags or not _FLAGS.issuperset(flags):
            raise ValueError(f"it has an unknown kind of group: '(?{flags[:10]}'")
        self.skip(":")

    def character_class(self, nesting: int) -> None:
        """Read up to the bracket that closes a class; a class may contain classes."""
        if nesting > limits.PATTERN_NESTING:
            raise ValueError(f"it has classes with more than {limits.PATTERN_NESTING} levels of nesting")
        self.skip("^")
        self.skip("]")
        while (character := self.take()) != "]":
            if character == "\\":
                self.take()
            elif character == "[":
                self.character_class(nesting + 1)

    def escape(self) -> _Part:
        character = self.take()
        if character in _REFERENCES:
            raise ValueError(f"it has a reference to a group ('\\{character}'), which can take very long to match")
        if character in "pPx" and self.skip("{"):
            while self.take() != "}":
                pass
        elif character in "ux":
            self.take({"u": 4, "x": 2}[character])
        if character == "X":
            return _Part(1, _MANY, repeats=1)
        return _ANCHOR if character in _ANCHORS else _Part(1, 2) if character == "R" else _CHARACTER

    def repeated(self, part: _Part) -> _Part:
        """Return a part with the quantifier that follows it."""
        braced, bounds = self.rest.startswith("{"), self.bounds()
        if bounds is None:
            return part
        part = _times(part, *bounds)
        if self.skip("+"):  # after a brace it is another repeat, otherwise it makes the quantifier possessive
            part = _times(part, 1, _MANY) if braced else part
        elif self.skip("?"):  # after a brace it may make the part optional, otherwise it makes the quantifier lazy
            part = replace(part, least=0, ways=part.ways + 1) if braced else part
        if self.bounds() is not None:
            raise ValueError("it has a quantifier after a quantifier")
        return part

    def bounds(self) -> tuple[int, float] | None:
        """Read a quantifier and return its bounds, None if there is none; a brace may be an ordinary character."""
        for sign, bounds in (("*", (0, _MANY)), ("+", (1, _MANY)), ("?", (0, 1))):
            if self.skip(sign):
                return bounds
        closed = self.pattern.find("}", self.position)
        inside = self.pattern[self.position + 1 : closed] if self.rest.startswith("{") and closed > 0 else ""
        least, comma, most = inside.partition(",")
        if not (least + most).isdecimal() or not (least + most).isascii() or len(inside) > 12:
            return None
        self.position = closed + 1
        return int(least or 0), (int(most) if most else _MANY) if comma else int(least)


def _either(branches: list[_Part]) -> _Part:
    ways = sum(part.ways for part in branches)
    if ways > limits.PATTERN_WAYS:
        raise ValueError(f"it can match in {ways:,.0f} ways at one position, expected at most {limits.PATTERN_WAYS}")
    return _Part(
        min(part.least for part in branches),
        max(part.most for part in branches),
        ways,
        max(part.repeats for part in branches),
        sum(part.size for part in branches),
        all(part.fails for part in branches),
    )


def _then(first: _Part, second: _Part) -> _Part:
    ways, repeats = first.ways * second.ways, first.repeats + second.repeats
    if ways > limits.PATTERN_WAYS:
        raise ValueError(f"it can match in {ways:,.0f} ways at one position, expected at most {limits.PATTERN_WAYS}")
    # If the part after the last repeat fails, the search goes back and tries all lengths of all repeats before it.
    if repeats > limits.PATTERN_REPEATS or (first.repeats == limits.PATTERN_REPEATS and second.fails):
        raise ValueError("it has too many consecutive unbounded repeats")
    size = first.size + second.size
    if size > limits.PATTERN_CHARACTERS:
        raise ValueError(f"written out it has {size:,.0f} characters, expected at most {limits.PATTERN_CHARACTERS:,}")
    return _Part(first.least + second.least, first.most + second.most, ways, repeats, size, first.fails or second.fails)


def _times(part: _Part, least: int, most: float) -> _Part:
    if most < least:
        raise ValueError(f"it repeats from {least} to {most} times, expected the smaller number first")
    if most > 1 and (part.ways > 1 or part.repeats or part.least != part.most or not part.most):
        raise ValueError("it repeats something that can match in several ways")
    copies = max(1, least if most == _MANY else most)
    if part.size * copies > limits.PATTERN_CHARACTERS:
        raise ValueError(f"written out it has {part.size * copies:,.0f} characters")
    if most == _MANY:
        return _Part(part.least * least, _MANY, 1, 1, part.size * copies, least > 0)
    ways = part.ways + 1 if (least, most) == (0, 1) else part.ways * (most - least + 1)
    if ways > limits.PATTERN_WAYS:
        raise ValueError(f"it can match in {ways:,.0f} ways at one position, expected at most {limits.PATTERN_WAYS}")
    return _Part(part.least * least, part.most * most, ways, part.repeats, part.size * copies, least > 0)


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
    """Check the files of a tokenizer: their sizes, and the content of a `tokenizer.json` or a SentencePiece model."""
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
    """Check the numbers in a `tokenizer_config.json`: the maximum length, and the tokens that it adds."""
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
    """Check the steps of a tokenizer: their number, their patterns, and how much they can lengthen a text."""
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


SAMPLE = "It's a good film, isn't it? Çà, 電影 12345 --\n  the\tend"


def read_tokenizer_json(folder: Path) -> Any:
    """Return the `tokenizers.Tokenizer` of a folder, without its truncation and padding."""
    import tokenizers

    check_tokenizer_files(folder)
    path = folder / "tokenizer.json"
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        steps = {
            name: json.loads(part.__getstate__()) for name in STEPS if (part := getattr(tokenizer, name)) is not None
        }
        check_pipeline(folder, steps)
        n_tokens = len(tokenizer.encode(SAMPLE).ids)
    except (MaseError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of tokenizers is not even an `Exception`
        raise DataError(f"cannot read the tokenizer {path}: {error}; expected a tokenizer.json") from error
    check_built(folder, n_tokens)
    return tokenizer


def check_built(folder: Path, n_tokens: int) -> None:
    """Check the number of tokens that the tokenizer of a folder returns for `SAMPLE`."""
    most = limits.TOKENS_TIMES * len(SAMPLE) + limits.TOKENS_SPARE
    if n_tokens > most:
        raise DataError(
            f"the tokenizer of {folder} returns {n_tokens:,} tokens for {len(SAMPLE)} characters, "
            f"expected at most {most}"
        )
