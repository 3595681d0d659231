"""Pieces of a text that its tokenizer takes for special tokens, such as "[SEP]" or "</s>"."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mase.text import Span

__all__ = ["literal_spans", "padding_ids", "special_ids", "special_tokens", "unknown_id"]


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
