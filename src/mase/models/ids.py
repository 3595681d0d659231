"""What the function `tokenize` of a torch module returns: ids and spans, checked."""

import operator
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from mase.errors import MaseError, ModelError, ShapeError
from mase.text import Span

__all__ = ["ids_and_spans"]


def ids_and_spans(
    tokenize: Callable[[str], Any], text: str, fixed_ids: Set[int]
) -> tuple[list[int], list[Span | None]]:
    """Return the ids and spans that `tokenize` returns for a text, checked."""
    try:
        encoded = tokenize(text)
    except MaseError:
        raise
    except Exception as error:
        raise ModelError(f"tokenize raised {type(error).__name__}: {error}") from error
    try:
        pair = (
            isinstance(encoded, tuple | list)
            and len(encoded) == 2
            and not np.isscalar(encoded[0])
            and np.ndim(encoded[0]) == 1
        )
        ids = [operator.index(token) for token in (encoded[0] if pair else encoded)]
        spans = (
            [None if span is None else (operator.index(span[0]), operator.index(span[1])) for span in encoded[1]]
            if pair
            else None
        )
    except (TypeError, IndexError, ValueError, RuntimeError) as error:
        raise ShapeError(
            f"tokenize returned {encoded!r:.80}, expected integer ids, or (ids, spans) with one (start, end) per id"
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


def _whitespace_spans(text: str, ids: Sequence[int], fixed_ids: Set[int]) -> list[Span | None]:
    words, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        words.append((start, start + len(word)))
        start += len(word)
    n_scored = sum(token not in fixed_ids for token in ids)
    if n_scored != len(words):
        raise ShapeError(
            f"tokenize returned {n_scored} ids for a text of {len(words)} whitespace words, expected one id per "
            "word; return (ids, spans) with one (start, end) per id"
        )
    next_words = iter(words)
    return [None if token in fixed_ids else next(next_words) for token in ids]
