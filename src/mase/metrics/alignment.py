"""Scores from elsewhere, brought onto the words that a model reads."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mase.arrays import Floats, as_floats
from mase.attribution import Attribution
from mase.errors import OptionError, ShapeError
from mase.models.protocol import Model
from mase.text import Span, Tokens, Words, group_words

__all__ = ["align", "check_model"]

Pair = tuple[str, float]


@runtime_checkable
class _Explanation(Protocol):
    """What a `shap.Explanation` of one text has."""

    values: Any
    data: Any


@runtime_checkable
class _Tensor(Protocol):
    """What a torch tensor has, on whatever device and with or without gradients."""

    def detach(self) -> Any: ...

    def cpu(self) -> Any: ...


def align(given: Any, model: Model, text: str, *, target: int | None = None) -> Floats:
    """Return the scores `(w,)` of the words of `text` that `model` reads, from an attribution that was made elsewhere.

    Parameters
    ----------
    given
        One of

        - an `Attribution` of the same text, by the same model where both have a checksum;
        - a list of `(word, score)` pairs in reading order (`Attribution.as_list`), where a word may be any piece of the text (a
          token, a word with or without its punctuation). The pieces of one word add up; a piece of several words gives
          each its share by characters;
        - a mapping from word to score, which every occurrence of the word gets (LIME's ``dict(explanation.as_list())``),
          whatever its case if all of the mapping is in lower case; punctuation around a word of the mapping does not
          count. A word that it lacks gets the sum of its runs of letters ("doesn't": those of doesn and t), or 0;
        - a `shap.Explanation` of one text: its `values` `(t,)` or `(t, k)` belong to the pieces in its `data`;
        - an array or tensor `(t,)` or `(t, d)`, as captum returns it (also with a leading 1): one row per token that the model
          reads, or per token that is not special; the d entries of a token, and the tokens of a word, add up. `(1, n)`
          is one text of n tokens wherever the text has that many;
        - an array of one number per word `(w,)`;
        - arrays as lists of numbers, and a `shap.Explanation` as a mapping of two lists, `values` and `data`: what a JSON file
          can hold of them.
    model, text
        The model that reads the text.
    target
        Index of the class that the scores are to be for: what an `Attribution` has to explain, and which of the k
        columns of a `shap.Explanation` is meant. None takes whatever class an `Attribution` explains.

    Raises
    ------
    ShapeError
        If the scores do not fit the text.
    OptionError
        If it is none of these, an `Attribution` of another class or model, or `target` is not one of the columns.
    NonFiniteError
        If a score is not finite.

    Examples
    --------
    >>> from mase.models import Callable
    >>> model = Callable(lambda texts: [[0.5, 0.5] for _ in texts])
    >>> align([("Not", -1.0), ("good.", 5.0)], model, "Not good.").tolist()
    [-1.0, 4.0, 1.0]
    """
    tokens = model.encode(text)
    words = group_words(tokens)
    if isinstance(given, Attribution):
        return _same_question(given, model, text, words, target)
    if isinstance(given, Mapping):
        if given.keys() == {"values", "data"} and all(isinstance(one, list) for one in given.values()):
            return _by_piece(_explained(SimpleNamespace(**given), target), text, words)
        return _by_word(given, text, words)
    if isinstance(given, _Tensor):
        return _by_token(np.asarray(given.detach().cpu()), tokens, words)
    if isinstance(given, np.ndarray):
        if _array(given) is None:
            raise ShapeError(f"the attribution is an array of {given.dtype}, expected real numbers")
        return _by_token(given, tokens, words)
    if isinstance(given, _Explanation):
        return _by_piece(_explained(given, target), text, words)
    if isinstance(given, Sequence) and not isinstance(given, str):
        array = _array(given)
        if array is not None:
            return _by_token(array, tokens, words)
        return _by_piece([_pair(one) for one in given], text, words)
    raise OptionError(
        f"attribution is of type {type(given).__name__}, expected an Attribution, (word, score) pairs, a mapping from word to "
        "score, an array or tensor per token, or a shap.Explanation"
    )


def check_model(given: Attribution, model: Model) -> None:
    """Raise the error for an attribution that explains another model: both checksums are known, and differ.

    Raises
    ------
    OptionError
        If it does.
    """
    theirs = given.model.get("sha256")
    if theirs is not None and model.sha256 is not None and theirs != model.sha256:
        raise OptionError(
            f"the attribution explains the model {given.model.get('name')} (sha256 {theirs[:12]}), expected {model.name} "
            f"(sha256 {model.sha256[:12]}), which is judged; explain the texts with this model"
        )


def _same_question(given: Attribution, model: Model, text: str, words: Words, target: int | None) -> Floats:
    check_model(given, model)
    if given.text != text or given.spans != words.spans:
        raise ShapeError(
            f"the attribution is of {len(given.spans)} words of {given.text[:40]!r}, expected the {len(words)} words "
            f"of {text[:40]!r} that the model reads; explain the text with this model"
        )
    if target is not None and given.target != model.labels[target]:
        raise OptionError(
            f"the attribution explains the class {given.target!r}, expected {model.labels[target]!r}, which is judged; "
            f"explain the text with target={model.labels[target]!r}"
        )
    return np.array(given.scores)


def _by_word(given: Mapping[Any, Any], text: str, words: Words) -> Floats:
    """Return each word's score; for a word that is not there, such as "doesn't", the sum over its runs of letters."""
    worth = dict(_pair(one) for one in given.items())
    found = [text[slice(*span)] for span in words.spans]
    if all(word == word.lower() for word in worth):  # of a vocabulary without case
        found = [word.lower() for word in found]
    worth |= _without_punctuation(worth, set(found))
    scored = [[word] if word in worth else re.findall(r"\w+", word) for word in found]
    if not any(part in worth for parts in scored for part in parts):
        raise ShapeError(f"none of the words {sorted(worth)[:5]} is in the text {text[:40]!r}, expected its words")
    return as_floats([sum(worth.get(part, 0.0) for part in parts) for parts in scored], (None,), "scores")


def _without_punctuation(worth: Mapping[str, float], found: Container[str]) -> dict[str, float]:
    """Return the scores of those words of the text that the mapping has with punctuation around them only."""
    bare: dict[str, float] = {}
    for word, score in worth.items():
        inner = re.sub(r"^\W+|\W+$", "", word)
        if word in found or inner not in found:
            continue
        if bare.setdefault(inner, worth.get(inner, score)) != score:
            raise ShapeError(
                f"the scores have several numbers for {inner!r}, {score} for {word!r} among them, expected one for each word; "
                "pass (word, score) pairs in reading order"
            )
    return bare


def _explained(given: _Explanation, target: int | None) -> list[Pair]:
    values, data = _array(given.values), given.data
    if values is None or any(isinstance(piece, list | tuple) for piece in data):
        raise ShapeError(
            f"the explanation has values {given.values!r:.60}, expected numbers, (t,) or (t, k); "
            "pass the explanation of one text, as in explanation[0]"
        )
    pieces = [str(piece) for piece in np.asarray(data).reshape(-1)]
    if values.ndim not in (1, 2) or len(values) != len(pieces):
        raise ShapeError(
            f"the explanation has values of shape {values.shape} for {len(pieces)} pieces, expected (t,) or (t, k); "
            "pass the explanation of one text, as in explanation[0]"
        )
    if values.ndim == 2:
        if target is None or not 0 <= target < values.shape[1]:
            raise OptionError(f"target is {target}, expected one of the {values.shape[1]} columns of the explanation")
        values = values[:, target]
    return list(zip(pieces, values.tolist(), strict=True))


def _array(given: Any) -> np.ndarray | None:
    """Return numbers as an array, None if there is anything else among them or rows are not of one length."""
    try:
        array = np.asarray(given)
    except ValueError:
        return None
    return array if array.dtype.kind in "iuf" else None


def _pair(given: Any) -> Pair:
    if not isinstance(given, Sequence) or len(given) != 2 or not isinstance(given[0], str):
        raise ShapeError(f"the attribution holds {given!r:.60}, expected (word, score)")
    return given[0], _number(given[1], given)


def _number(score: Any, whole: Any) -> float:
    """Return a score as a number; no text and no truth value is one. Scalars of numpy and torch are."""
    try:
        if isinstance(score, str | bytes | bool | np.bool_):
            raise TypeError
        return float(score)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"the attribution holds {whole!r:.60}, expected (word, score) with a number") from None


def _by_token(given: np.ndarray, tokens: Tokens, words: Words) -> Floats:
    """Return sums over the tokens of each word, of rows `(t,)` or `(t, d)`, with a leading 1 or without special tokens."""
    free = np.flatnonzero(~np.array(tokens.fixed))
    of_token = np.array(words.of_token)
    places = {len(tokens): of_token, len(free): of_token[free], len(words): np.arange(len(words))}
    array = _of_one_text(given, places)
    if array.ndim not in (1, 2) or len(array) not in places or not array.size:
        raise ShapeError(
            f"the attribution has shape {given.shape}, expected ({len(tokens)},) or ({len(tokens)}, d): one row per token that "
            f"the model reads ({len(free)} without special tokens), or one number for each of {len(words)} words"
        )
    rows = as_floats(array.astype(np.float64), (None,) * array.ndim, "attribution").reshape(len(array), -1).sum(axis=1)
    place = places[len(array)]
    return np.asarray(np.bincount(place[place >= 0], weights=rows[place >= 0], minlength=len(words)), dtype=np.float64)


def _of_one_text(given: np.ndarray, lengths: Container[int]) -> np.ndarray:
    """Return the array without a leading 1 that stands for one text; `(1, d)` may be the d entries of the only token."""
    leads = given.ndim == 3 or (given.ndim == 2 and (given.shape[1] in lengths or 1 not in lengths))
    return np.asarray(given[0]) if leads and given.shape[0] == 1 else given


def _by_piece(pairs: Sequence[Pair], text: str, words: Words) -> Floats:
    """Return the sums of the pieces' scores, each divided among the words that it overlaps by characters."""
    as_floats([score for _, score in pairs], (None,), "scores")
    scores, covered = np.zeros(len(words)), np.zeros(len(words), dtype=np.int64)
    for span, score in _places(pairs, text, words):
        shared = np.array([max(0, min(span[1], end) - max(span[0], start)) for start, end in words.spans])
        if shared.any():
            scores += score * shared / shared.sum()
            covered += shared
    missing = next((span for span, seen in zip(words.spans, covered, strict=True) if not seen), None)
    if missing is not None:
        raise ShapeError(
            f"word {text[slice(*missing)]!r} at position {missing[0]} has no score, expected one for every word"
        )
    return scores


def _places(pairs: Sequence[Pair], text: str, words: Words) -> list[tuple[Span, float]]:
    """Return where the pieces stand, from the start of the text or from where the words that the model reads begin."""
    try:
        return list(_located(pairs, text, 0))
    except ShapeError:
        first = words.spans[0][0] if len(words) else 0
        if not first:
            raise
        return list(_located(pairs, text, first))


def _located(pairs: Sequence[Pair], text: str, at: int) -> Iterator[tuple[Span, float]]:
    """Yield where each piece stands: one after the other from `at` on, with no letter and no digit between them.

    Pieces of nothing but white space are left out.
    """
    for piece, score in pairs:
        wanted = piece.strip()
        if not wanted:
            continue
        gap = next(stop for stop in range(at, len(text) + 1) if stop == len(text) or text[stop].isalnum())
        start = next((start for start in range(at, gap + 1) if _stands(wanted, text, start)), None)
        if start is None:
            raise ShapeError(
                f"the scores have {wanted[:40]!r} where the text has {text[at : at + 20]!r} (position {at}), "
                "expected the pieces of the text in reading order"
            )
        at = start + len(wanted)
        yield (start, at), score


def _stands(piece: str, text: str, at: int) -> bool:
    """Return whether the piece stands there; uncased tokenizers give it in lower instance."""
    here = text[at : at + len(piece)]
    return here == piece or here.lower() == piece.lower()
