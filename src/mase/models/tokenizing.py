"""Turn documents into tokens with what users have: a tokenizer of `tokenizers` or transformers, or a function.

This module imports no framework.
"""

import copy
import operator
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from mase.document import Document, Input
from mase.errors import (
    CapabilityError,
    EmptyTextError,
    InvalidTextError,
    MaseError,
    ModelError,
    OptionError,
    ShapeError,
)
from mase.models.options import check_ids
from mase.models.special_tokens import padding_ids, special_ids
from mase.models.tokenizer_checksum import tokenizer_checksum
from mase.text import Side, Span, Tokens, Truncation

__all__ = [
    "Tokenizer",
    "check_no_tokenizer",
    "ids_and_spans",
    "is_of_transformers",
    "longest_first",
    "of_encoding",
    "read",
    "read_by",
    "shortened",
    "tokenizing",
]

# How vocabularies usually name the tokens that can represent an absent word.
_USUAL = {"mask": ("[MASK]", "<mask>"), "unk": ("[UNK]", "<unk>"), "pad": ("[PAD]", "<pad>")}


class Tokenizer(Protocol):
    """From a document to its tokens.

    Attributes
    ----------
    roles
        The ids of those of "mask", "unk" and "pad" that there are.
    fixed_ids
        The ids of special tokens that the user names.
    """

    @property
    def roles(self) -> Mapping[str, int]:
        """The ids that can represent an absent word, by role."""
        ...

    @property
    def fixed_ids(self) -> frozenset[int]:
        """The ids of special tokens that the user names."""
        ...

    def encode(self, document: Document, owner: str) -> Tokens:
        """Return all tokens of a document; `owner` is the model that asks, for messages.

        Raises
        ------
        InvalidTextError
            If it does not read such a document.
        """
        ...


def tokenizing(tokenizer: Any, roles: Mapping[str, int | None], special_ids: Collection[int] = ()) -> Tokenizer:
    """Return the tokenizer of a user in the form of this library.

    Parameters
    ----------
    tokenizer
        A `tokenizers.Tokenizer`, a fast tokenizer of transformers or any object with its interface, or a function from
        a text to ids, to ids and character spans, or to the encoding of such a tokenizer.
    roles
        Ids of "mask", "unk" and "pad"; None for one that the tokenizer itself knows, or that there is not.
    special_ids
        Further ids of a function that are never scored.

    Raises
    ------
    CapabilityError
        If it gives no character spans, or cannot be copied.
    OptionError
        If it is none of these, or an id is no integer.
    """
    checked, fixed_ids = check_ids(roles, special_ids)
    given = {role: token for role, token in checked.items() if token is not None}
    backend, tokenizers = tokenizer, sys.modules.get("tokenizers")
    if is_of_transformers(tokenizer):
        own = {role: getattr(tokenizer, f"{role}_token_id", None) for role in _USUAL}
        given = {role: token for role, token in own.items() if token is not None} | given
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not getattr(tokenizer, "is_fast", True):
            raise CapabilityError(
                f"tokenizer {type(tokenizer).__name__} gives no character spans, expected a fast tokenizer"
            )
    if tokenizers is not None and isinstance(backend, tokenizers.Tokenizer):
        return FastTokenizer.of(backend, given, fixed_ids)
    if is_of_transformers(tokenizer):
        return FunctionTokenizer(_Encoder(tokenizer), MappingProxyType(given), fixed_ids)
    if callable(tokenizer):
        return FunctionTokenizer(tokenizer, MappingProxyType(given), fixed_ids)
    raise OptionError(
        f"tokenizer is of type {type(tokenizer).__name__}, expected a tokenizer of tokenizers or transformers, or a "
        "function from a text to ids"
    )


def check_no_tokenizer(what: str, tokenizer: object) -> None:
    """Check that no tokenizer is given beside an object that reads texts by itself."""
    if tokenizer is not None:
        raise OptionError(
            f"tokenizer is of type {type(tokenizer).__name__} beside {what}, expected None, because {what} reads texts "
            "by itself; leave the tokenizer out"
        )


def is_of_transformers(tokenizer: Any) -> bool:
    """Return whether an object has the interface of a tokenizer of transformers, whatever its class."""
    return callable(tokenizer) and all(
        hasattr(tokenizer, name) for name in ("convert_ids_to_tokens", "all_special_ids", "model_max_length")
    )


@dataclass(frozen=True, slots=True)
class _Encoder:
    """An object with the interface of a tokenizer of transformers as a function from a whole text to its encoding."""

    tokenizer: Any

    def __call__(self, text: str) -> Any:
        return self.tokenizer(
            text, return_offsets_mapping=True, return_special_tokens_mask=True, truncation=False, padding=False
        )


@dataclass(frozen=True, slots=True)
class FastTokenizer:
    """A `tokenizers.Tokenizer` without truncation and padding. Two texts are encoded as a pair."""

    backend: Any
    roles: Mapping[str, int]
    fixed_ids: frozenset[int] = frozenset()

    @classmethod
    def of(cls, backend: Any, given: Mapping[str, int], fixed_ids: frozenset[int] = frozenset()) -> "FastTokenizer":
        """Return a copy of a tokenizer, which keeps the whole text; `given` are ids of roles that it need not name.

        Raises
        ------
        CapabilityError
            If it cannot be copied.
        """
        try:
            own = copy.deepcopy(backend)
        except Exception as error:
            raise CapabilityError(
                f"the tokenizer cannot be copied ({error}), expected one without components in Python; pass a function "
                "from a text to (ids, spans)"
            ) from error
        own.no_truncation()
        own.no_padding()
        found = {
            role: token
            for role, names in _USUAL.items()
            if (token := next(filter(lambda one: one is not None, map(own.token_to_id, names)), None)) is not None
        }
        roles = {role: (found | dict(given))[role] for role in _USUAL if role in {*found, *given}}
        return cls(own, roles, fixed_ids)

    @property
    def vocabulary(self) -> Collection[int]:
        """The ids of ordinary tokens."""
        return set(self.backend.get_vocab().values()) - set(special_ids(self.backend, None)) - {*self.roles.values()}

    def encode(self, document: Document, owner: str) -> Tokens:
        """Return the tokens of one text, or of two as a pair.

        Tokens that the tokenizer adds are fixed, and padding that is written in the text.
        """
        texts = [field.text for field in document.fields if field.value is None]
        if len(texts) != len(document.fields) or len(texts) > 2:
            names = ", ".join(field.name for field in document.fields)
            raise InvalidTextError(f"text has the fields {names}, expected one text or a pair of texts for {owner}")
        encoded, starts = self.backend.encode(*texts), document.starts
        spans = tuple(
            None if sequence is None else (start + starts[sequence], end + starts[sequence])
            for sequence, (start, end) in zip(encoded.sequence_ids, encoded.offsets, strict=True)
        )
        types = tuple(encoded.type_ids)
        ids, unknown = tuple(encoded.ids), self.roles.get("unk")
        never = {*padding_ids(self.roles.get("pad"), unknown), *self.fixed_ids}
        fixed = tuple(span is None or token in never for token, span in zip(ids, spans, strict=True))
        known = special_ids(self.backend, unknown)
        special = tuple(span for token, span in zip(ids, spans, strict=True) if span is not None and token in known)
        return Tokens(document, ids, tuple(encoded.tokens), spans, fixed, None, types, special, unknown)


@dataclass(frozen=True, slots=True)
class FunctionTokenizer:
    """A function from a text to ids, or to ids and spans.

    Special tokens are those without a place in the text, and those with an id in `fixed_ids`; they are fixed.
    """

    function: Callable[[str], Any]
    roles: Mapping[str, int]
    fixed_ids: frozenset[int]

    def __reduce__(self) -> tuple[Any, ...]:
        return _function_tokenizer, (self.function, dict(self.roles), self.fixed_ids)

    def encode(self, document: Document, owner: str) -> Tokens:
        """Return the tokens of one text."""
        text = document.only_text(owner)
        ids, spans = ids_and_spans(self.function, text, self.fixed_ids)
        fixed = tuple(span is None or token in self.fixed_ids for token, span in zip(ids, spans, strict=True))
        pieces = tuple(
            f"<{token}>" if span is None else text[slice(*span)] for token, span in zip(ids, spans, strict=True)
        )
        return Tokens(document, tuple(ids), pieces, tuple(spans), fixed, unknown_id=self.roles.get("unk"))


def _function_tokenizer(
    function: Callable[[str], Any], roles: dict[str, int], fixed_ids: frozenset[int]
) -> FunctionTokenizer:
    return FunctionTokenizer(function, MappingProxyType(roles), fixed_ids)


def ids_and_spans(
    tokenize: Callable[[str], Any], text: str, fixed_ids: Collection[int] = ()
) -> tuple[list[int], list[Span | None]]:
    """Return the ids `(t,)` and spans that a function of the user returns for a text, checked.

    A special token has no place in the text: the span None, or the empty span (0, 0) that tokenizers of transformers
    give it. If the function returns ids alone, they must be one per whitespace word, not counting those in `fixed_ids`.

    Raises
    ------
    ModelError
        If the function raises.
    ShapeError
        If it returns something else, or spans outside the text.
    """
    try:
        encoded = tokenize(text)
    except MaseError:
        raise
    except Exception as error:
        raise ModelError(f"tokenize raised {type(error).__name__}: {error}") from error
    encoded = of_encoding(encoded)
    try:
        pair = (
            isinstance(encoded, tuple | list)
            and len(encoded) == 2
            and not np.isscalar(encoded[0])
            and np.ndim(encoded[0]) == 1
        )
        ids = [_id(token) for token in (encoded[0] if pair else encoded)]
        spans = (
            [None if span is None else _place(operator.index(span[0]), operator.index(span[1])) for span in encoded[1]]
            if pair
            else None
        )
    except (TypeError, IndexError, ValueError, RuntimeError) as error:
        raise ShapeError(
            f"tokenize returned {encoded!r:.80}, expected integer ids, or (ids, spans) with one (start, end) per id; "
            "of a tokenizer of transformers or tokenizers, return its ids and its offsets"
        ) from error
    if spans is None:
        return ids, _whitespace_spans(text, ids, fixed_ids)
    if len(ids) != len(spans):
        raise ShapeError(f"tokenize returned {len(ids)} ids and {len(spans)} spans, expected one span per id")
    outside = next((span for span in spans if span is not None and not 0 <= span[0] <= span[1] <= len(text)), None)
    if outside is not None:
        raise ShapeError(
            f"tokenize returned the span {outside} for a text of {len(text)} characters, expected a span inside it"
        )
    return ids, spans


def of_encoding(encoded: Any) -> Any:
    """Return the ids and spans in an encoding of transformers or of tokenizers; anything else is returned."""
    if isinstance(encoded, Mapping) and "input_ids" in encoded:
        ids, spans = encoded["input_ids"], encoded.get("offset_mapping")
        special = encoded.get("special_tokens_mask")
    elif hasattr(encoded, "ids") and hasattr(encoded, "offsets"):
        ids, spans, special = encoded.ids, encoded.offsets, getattr(encoded, "special_tokens_mask", None)
    else:
        return encoded
    rows = [values[0] if np.ndim(values) > least else values  # of a batch of one, as with return_tensors
            for values, least in ((ids, 1), (spans, 2), (special, 1)) if values is not None]  # fmt: skip
    if spans is None:
        return rows[0]
    marks = rows[2] if special is not None else [False] * len(rows[0])
    return rows[0], [None if mark else span for span, mark in zip(rows[1], marks, strict=True)]


def _place(start: int, end: int) -> Span | None:
    return (start, end) if end else None


def _id(token: Any) -> int:
    """Return an id as an int; a truth value, also one of a tensor, is none."""
    if isinstance(token, bool) or str(getattr(token, "dtype", "")).endswith("bool"):
        raise TypeError
    return operator.index(token)


def _whitespace_spans(text: str, ids: list[int], fixed_ids: Collection[int]) -> list[Span | None]:
    words, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        words.append((start, start + len(word)))
        start += len(word)
    n_scored = sum(token not in fixed_ids for token in ids)
    if n_scored != len(words):
        raise ShapeError(
            f"tokenize returned {n_scored} ids for a text of {len(words)} whitespace words, expected one id per "
            "word; return (ids, spans) with one (start, end) per id, and None for a special token, or name special "
            "tokens by special_ids=[...]"
        )
    next_words = iter(words)
    return [None if token in fixed_ids else next(next_words) for token in ids]


def read_by(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return what decides the tokens besides a limit: a checksum of the tokenizer, special ids, and those of roles."""
    known = {"tokenizer_sha256": tokenizer_checksum(tokenizer.backend)} if isinstance(tokenizer, FastTokenizer) else {}
    fixed = sorted(tokenizer.fixed_ids)
    named = {"special_ids": fixed} if fixed or isinstance(tokenizer, FunctionTokenizer) else {}
    return {**known, **named, "roles": dict(tokenizer.roles)}


def read(tokenizer: Tokenizer, text: Input, owner: str, longest: int | None, keep: Side) -> Tokens:
    """Return the tokens of a document that a model reads, at most `longest`; `owner` is the model, for messages.

    Raises
    ------
    EmptyTextError
        If there are only special tokens.
    InvalidTextError
        If the tokenizer does not read such a document.
    """
    document = Document.of(text)
    pad, unknown = tokenizer.roles.get("pad"), tokenizer.roles.get("unk")
    padding = padding_ids(pad, unknown)
    tokens = shortened(tokenizer.encode(document, owner), longest, keep, tokenizer.fixed_ids, padding)
    if all(tokens.fixed):
        raise EmptyTextError(f"text {document.text[:40]!r} has no word that the model can read, expected at least one")
    return tokens


def shortened(
    tokens: Tokens, longest: int | None, keep: Side, special: Collection[int] = (), padding: Collection[int] = ()
) -> Tokens:
    """Return at most `longest` of the tokens of one or two texts: all special ones, and those at one end of each text.

    Special are those without a place in the text, and those with an id in `special`; padding around a text is left out.
    Of a pair the longer text loses tokens first; see `longest_first`. None is no limit.
    """
    if longest is None or len(tokens) <= longest:
        return tokens
    second = (*tokens.document.starts, len(tokens.text) + 1)[1]  # where the second text begins
    of_text: tuple[list[int], list[int]] = ([], [])
    added = []
    for index, (token, span) in enumerate(zip(tokens.ids, tokens.spans, strict=True)):
        if token in padding:
            continue
        if span is None or token in special:
            added.append(index)
        else:
            of_text[span[0] >= second].append(index)
    kept = set(added)
    sizes = longest_first(len(of_text[0]), len(of_text[1]), max(longest - len(added), 0))
    for own, most in zip(of_text, sizes, strict=True):
        kept |= set(own[:most] if keep == "start" else own[len(own) - most :])
    places = sorted(kept)
    n_total = len(added) + sum(map(len, of_text))

    def chosen(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[index] for index in places)

    spans = chosen(tokens.spans)

    return Tokens(
        tokens.document,
        chosen(tokens.ids),
        chosen(tokens.pieces),
        spans,
        chosen(tokens.fixed),
        Truncation(len(places), n_total, keep) if len(places) < n_total else None,
        None if tokens.types is None else chosen(tokens.types),
        tuple(span for span in tokens.special if span in spans),
        tokens.unknown_id,
    )


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many tokens of each of two texts fit into `room`, where the longer text loses its tokens first.

    These are the numbers of the library tokenizers: of two halves the second one gets the odd token.
    """
    if first + second <= room:
        return first, second
    half = room // 2
    if min(first, second) <= half:
        return (first, room - first) if first <= second else (room - second, second)
    return (half, room - half) if first <= second else (room - half, half)
