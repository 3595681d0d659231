"""From a document to tokens, whatever the tokenizer is.

This module imports no framework.
"""

import copy
import hashlib
import json
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from mase.document import PAIR, Document, Input
from mase.errors import (
    CapabilityError,
    EmptyTextError,
    InvalidTextError,
    MaseError,
    ModelError,
    OptionError,
    ShapeError,
)
from mase.models.folder import whole_text
from mase.models.scores import check_ids
from mase.text import Side, Span, Tokens, Truncation

_PROBE = (
    "The film wasn't GOOD; I'd say: 3.5/10, and “très” naïve... <br />\n\t'Straße' of İstanbul's e\u0301lite, re-re-"
    "released (1,999 x) on e-mail@host.example — 好看的电影 とても 영화 фильм مرحبا नमस्ते ☺️👍🏽 ﬁn Ⅷ½ ａ１ #x_y  end "
)


def tokenizer_checksum(tokenizer: Any) -> str:
    """Return the SHA-256 of the vocabulary of a `tokenizers.Tokenizer`, and of what it makes of a motley text.

    The tokenizer should neither cut nor pad. Its file would not do, because other versions write it in other ways.
    """
    added = [
        (number, token.content, token.single_word, token.lstrip, token.rstrip, token.normalized, token.special)
        for number, token in sorted(tokenizer.get_added_tokens_decoder().items())
    ]
    encoded = tokenizer.encode(_PROBE)
    return _checksum([sorted(tokenizer.get_vocab().items()), added, encoded.ids, encoded.type_ids, encoded.offsets])


def slow_tokenizer_checksum(tokenizer: Any) -> str:
    """Return the SHA-256 of the vocabulary of a tokenizer in Python, if it has one, and of the ids of the same text."""
    vocabulary = tokenizer.get_vocab() if hasattr(tokenizer, "get_vocab") else {}
    tokens = sorted((repr(token), number) for token, number in vocabulary.items())
    return _checksum([tokens, tokenizer(_PROBE, verbose=False)["input_ids"]])


def _checksum(result: list[Any]) -> str:
    return hashlib.sha256(json.dumps(result).encode()).hexdigest()


def special_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the special tokens of a tokenizer of transformers by id, but for one that only says what is unknown."""
    known: Mapping[int, Any] = tokenizer.added_tokens_decoder
    return _without_unknown(known, {unknown_id(tokenizer)})


def unknown_id(tokenizer: Any) -> int | None:
    """Return the id by which a tokenizer of transformers says what it does not know; None if it has no such one."""
    unknown: int | None = tokenizer.unk_token_id
    return None if unknown in (tokenizer.bos_token_id, tokenizer.eos_token_id) else unknown


def special_ids(backend: Any, unknown: int | None) -> Collection[int]:
    """Return the ids of the special tokens of a `tokenizers.Tokenizer`, but for that of what is `unknown`."""
    return _without_unknown(backend.get_added_tokens_decoder(), {unknown})


def padding_ids(padding: int | None, unknown: int | None) -> Collection[int]:
    """Return the id of padding, which is never scored; none if everything that is unknown has it."""
    return () if padding is None or padding == unknown else (padding,)


def literal_spans(text: str, tokens: Iterable[str]) -> tuple[Span, ...]:
    """Return the spans of tokens that stand literally in a text, the longest one where several begin."""
    pattern = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
    return tuple(match.span() for match in re.finditer(pattern, text)) if pattern else ()


def _without_unknown(known: Mapping[int, Any], unknown: Collection[int | None]) -> dict[int, str]:
    return {number: token.content for number, token in known.items() if token.special and number not in unknown}


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
        """Return all tokens of a document; `owner` is the model that asks, for messages."""
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
        """Return a copy of a tokenizer, which keeps the whole text; `given` are ids of roles that it need not name."""
        try:
            own = copy.deepcopy(backend)
        except Exception as error:
            raise CapabilityError(
                f"the tokenizer cannot be copied ({error}), expected one without components in Python; pass a function "
                "from a text to (ids, spans)"
            ) from error
        own.no_truncation()
        own.no_padding()
        result = {
            role: token
            for role, names in _USUAL.items()
            if (token := next(filter(lambda item: item is not None, map(own.token_to_id, names)), None)) is not None
        }
        roles = {role: (result | dict(given))[role] for role in _USUAL if role in {*result, *given}}
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
    """Return the tokens of a document that a model reads, at most `longest`; `owner` is the model, for messages."""
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


@dataclass(frozen=True, slots=True)
class TransformersTokenizer:
    """A fast tokenizer of transformers, for one model.

    Attributes
    ----------
    backend
        The tokenizer of transformers.
    owner
        Name of the model, for messages.
    max_length, keep
        Longest input of the model in tokens, None if it has no limit, and which end of a longer text is read.
    typed
        Whether the model reads token types.
    only_first
        Whether only the first text of a pair is cut, as with ``truncation="only_first"`` of transformers. Otherwise the
        longer text loses tokens first, as with ``truncation="longest_first"``.
    """

    backend: Any
    owner: str
    max_length: int | None
    keep: Side
    typed: bool
    only_first: bool = False

    def tokens(self, document: Document) -> Tokens:
        """Return the tokens of a document of one or two texts, as `backend(*texts)` gives them.

        Special tokens are fixed, and padding that is written in the text.
        """
        fields = self._fields(document)
        texts = [document.fields[index].text for index in fields]
        with whole_text(self.backend):
            encoded = self.backend(
                *texts, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False, truncation=False
            )
        ids, special = encoded["input_ids"], encoded["special_tokens_mask"]
        sources = [None if flag else source for flag, source in zip(special, encoded.sequence_ids(0), strict=True)]
        starts = [document.starts[index] for index in fields]
        spans: list[Span | None] = [
            None if source is None else (starts[source] + start, starts[source] + end)
            for source, (start, end) in zip(sources, encoded["offset_mapping"], strict=True)
        ]
        kept = self._kept(sources)
        padding = padding_ids(self.backend.pad_token_id, self.backend.unk_token_id)
        if all(sources[index] is None or ids[index] in padding for index in kept):
            raise EmptyTextError(
                f"text {document.text[:40]!r} has no word that the model can read, expected at least one"
            )
        types = self._types(encoded.get("token_type_ids"))
        special_ids = special_tokens(self.backend)
        return Tokens(
            document,
            tuple(ids[index] for index in kept),
            tuple(self.backend.convert_ids_to_tokens([ids[index] for index in kept])),
            tuple(spans[index] for index in kept),
            tuple(sources[index] is None or ids[index] in padding for index in kept),
            Truncation(len(kept), len(ids), self.keep) if len(kept) < len(ids) else None,
            None if types is None else tuple(types[index] for index in kept),
            tuple(span for index in kept if (span := spans[index]) is not None and ids[index] in special_ids),
            unknown_id(self.backend),
        )

    def _fields(self, document: Document) -> list[int]:
        """Return the indices of the first text and of the second; ``text`` is before ``text_pair`` in any order."""
        names = tuple(field.name for field in document.fields)
        if len(names) > 2 or any(field.value is not None for field in document.fields):
            raise InvalidTextError(
                f"text has the fields {', '.join(names)}, expected one text or a pair of texts for {self.owner}; join "
                "them, or explain a function of records (mase.models.Callable)"
            )
        return [1, 0] if names == PAIR[::-1] else list(range(len(names)))

    def _types(self, types: Sequence[int] | None) -> Sequence[int] | None:
        """Return the token types of the tokenizer; None if it gives none, or only 0 for a model that reads none.

        To some models, as to GPT-2, the type 0 is not the same as no type.
        """
        if not types or not (self.typed or any(types)):
            return None
        if not self.typed:
            raise CapabilityError(
                f"tokenizer {type(self.backend).__name__} gives token_type_ids other than 0, which {self.owner} does "
                "not read, expected the tokenizer of the model; if these types do not matter, remove 'token_type_ids' "
                "from its model_input_names"
            )
        return types

    def _kept(self, sources: Sequence[int | None]) -> list[int]:
        """Return the indices of the tokens that fit: all special tokens, and the end to keep of each text."""
        of_text = [[i for i, source in enumerate(sources) if source == number] for number in (0, 1)]
        if self.max_length is None or len(sources) <= self.max_length:
            return list(range(len(sources)))
        room, sizes = max(self.max_length - sources.count(None), 0), (len(of_text[0]), len(of_text[1]))
        first, second = (max(room - sizes[1], 0), sizes[1]) if self.only_first else longest_first(*sizes, room)
        dropped = {*self._dropped(of_text[0], first), *self._dropped(of_text[1], second)}
        return [index for index in range(len(sources)) if index not in dropped]

    def _dropped(self, indices: list[int], n_kept: int) -> list[int]:
        return indices[n_kept:] if self.keep == "start" else indices[: len(indices) - n_kept]


def check_fast(tokenizer: Any) -> None:
    """Check that a tokenizer is a fast one of transformers, which gives character spans."""
    tokenizers = sys.modules.get("tokenizers")
    if tokenizers is not None and isinstance(tokenizer, tokenizers.Tokenizer):
        raise CapabilityError(
            "the tokenizer is a tokenizers.Tokenizer, which does not name its special tokens, expected a fast "
            "tokenizer of transformers; wrap it, as in transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise CapabilityError(
            f"tokenizer {type(tokenizer).__name__} gives no character spans, expected a fast tokenizer; if "
            "there is none, pass a function from texts to probabilities (n, k)"
        )


# Families whose position numbers start after the padding id, so that the positions before it cannot be used.
_OFFSET = (
    "roberta", "xlm-roberta", "camembert", "longformer", "xlm-roberta-xl", "data2vec-text", "mpnet",
    "roberta-prelayernorm", "xmod", "ibert", "luke", "esm", "markuplm",
)  # fmt: skip

_NO_LIMIT = 1_000_000  # transformers writes 10 ** 30 for a tokenizer without limit, and others 0 or -1


def own_limit(tokenizer: Any) -> int | None:
    """Return the longest input in tokens of a user's tokenizer, None if it has no limit or is a function."""
    truncation = getattr(tokenizer, "truncation", None)  # of the library tokenizers
    own = truncation["max_length"] if isinstance(truncation, Mapping) else getattr(tokenizer, "model_max_length", None)
    return longest_input(own, None, None, None)


def own_side(tokenizer: Any) -> str | None:
    """Return the side on which a user's tokenizer cuts off what is longer, None if it does not say."""
    truncation = getattr(tokenizer, "truncation", None)
    side = truncation["direction"] if isinstance(truncation, Mapping) else getattr(tokenizer, "truncation_side", None)
    return None if side is None else str(side).lower()


def longest_input(tokenizer: float | None, family: object, positions: int | None, pad_id: int | None) -> int | None:
    """Return the longest input in tokens that the tokenizer and the positions allow, None if neither has a limit.

    Parameters
    ----------
    tokenizer
        The `model_max_length` of the tokenizer.
    family, positions, pad_id
        `model_type`, `max_position_embeddings` and `pad_token_id` of the configuration.
    """
    limits = [] if tokenizer is None else [int(min(tokenizer, _NO_LIMIT))]
    if positions is not None:
        limits.append(positions - ((pad_id or 0) + 1 if family in _OFFSET else 0))
    return min((limit for limit in limits if 0 < limit < _NO_LIMIT), default=None)
