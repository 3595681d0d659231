"""Scores that other tools made, matched to the words of a model."""

import json
import os
import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from mase.arrays import Floats, as_floats
from mase.attribution.attribution import Attribution
from mase.attribution.json import ERROR_SCHEMA, SCHEMA, from_dict
from mase.document import Document, Field, Input
from mase.errors import DataError, OptionError, ShapeError
from mase.files import read_bytes
from mase.models.base import Model
from mase.pipeline import units_of
from mase.text import Span, Tokens, Words, find_words
from mase.units import DEFAULT, Units, splitter
from mase.units.splitters import group


@dataclass(frozen=True, slots=True)
class GivenAttributions:
    """The attributions in a file.

    Attributes
    ----------
    path
        The file.
    by_text
        Attributions by the key of their document (`Document.key`, which is the text itself for a plain text), if the
        file says which document each explains.
    in_order
        Otherwise, one attribution per row of a table.
    documents
        The documents that the file says it explains, in its order.
    """

    path: str
    by_text: Mapping[str, Attribution]
    in_order: Sequence[Any]
    documents: Sequence[Document] = ()

    def check_rows(self, rows: Sequence[int], *, all_rows: bool) -> None:
        """Check that attributions in order are as many as the rows of their table.

        Parameters
        ----------
        rows
            Numbers of the rows to evaluate, from 1.
        all_rows
            Whether these are all rows of the table. Otherwise the file must have an attribution for the other rows too.
        """
        n, last = len(self.in_order), max(rows)
        if not self.by_text and (n < last or (all_rows and n != last)):
            expected = (
                f"{last}: one for each row of the table" if all_rows else f"at least {last}: one for each row, in order"
            )
            raise DataError(
                f"{self.path!r} has {n} attributions, expected {expected}, including the rows that are not evaluated"
            )

    def of(self, text: Input, row: int) -> Any:
        """Return the attribution of a text, which is row `row` of its table, counted from 1."""
        if self.by_text:
            key = Document.of(text).key
            if key not in self.by_text:
                raise DataError(
                    f"{self.path!r} has no attribution of the text {key[:40]!r}, expected one; explain the text first"
                )
            return self.by_text[key]
        if not 1 <= row <= len(self.in_order):
            raise DataError(f"{self.path!r} has {len(self.in_order)} attributions, expected one for row {row} too")
        return self.in_order[row - 1]


def per_text(attributions: Mapping[str, Iterable[Any]], n_texts: int) -> list[dict[str, Any]]:
    """Return for each of `n_texts` texts its attributions by name, from the attributions of all texts by name."""
    if not isinstance(attributions, Mapping):
        raise OptionError(
            f"attributions is of type {type(attributions).__name__}, expected a mapping from a name to a list with one "
            "attribution per text, as in {'mine': [...]}"
        )
    lists = {name: _listed(name, entries) for name, entries in attributions.items()}
    for name, entries in lists.items():
        if len(entries) != n_texts:
            raise ShapeError(f"{name!r} has {len(entries)} attributions for {n_texts} texts, expected one per text")
    return [{name: entries[number] for name, entries in lists.items()} for number in range(n_texts)]


def _listed(name: str, entries: Any) -> list[Any]:
    """Return attributions as a list. A `shap.Explanation` of several texts has a length and no iterator."""
    if isinstance(entries, str | bytes | Mapping | Set) or not isinstance(entries, Iterable | Sized):
        raise OptionError(
            f"the attributions of {name!r} are of type {type(entries).__name__}, expected a list with one per text"
        )
    indexed: Any = entries
    return list(entries) if isinstance(entries, Iterable) else [indexed[number] for number in range(len(indexed))]


def read_attributions(path: str | os.PathLike[str]) -> GivenAttributions:
    """Return the attributions in a file.

    Parameters
    ----------
    path
        Either what `mase explain -o` writes: one attribution per line, where failures are skipped. Or JSON with one
        entry per text, one per line or all in one list. An entry is a list of ``[word, score]`` pairs, an object from
        word to score, a list of numbers per token (a tensor's ``tolist()``), or an object with the ``values`` and
        ``data`` of a `shap.Explanation`.
    """
    name = os.fspath(path)
    entries = _entries(name)
    from_mase = [_has_schema(entry) for entry in entries]
    if any(from_mase) and not all(from_mase):
        raise DataError(f"{name!r} mixes attributions of schema {SCHEMA} with others, expected one kind")
    if all(from_mase):
        attributions = [
            from_dict(entry, place=f"{name!r}, entry {number}")
            for number, entry in enumerate(entries, 1)
            if entry["schema"] != ERROR_SCHEMA
        ]
        if not attributions:
            raise DataError(f"{name!r} holds failures only, expected attributions")
        by_text: dict[str, Attribution] = {}
        for attribution in attributions:
            first = by_text.setdefault(Document(attribution.document).key, attribution)
            if first.target != attribution.target or not np.array_equal(first.scores, attribution.scores):
                raise DataError(
                    f"{name!r} has two different attributions of the text {attribution.text[:40]!r}, expected one; "
                    "give each method a file of its own"
                )
        return GivenAttributions(name, by_text, (), tuple(Document(item.document) for item in attributions))
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, list | dict):
            raise DataError(
                f"{name!r}, entry {number} is a {type(entry).__name__}, expected a list of [word, score] pairs or of "
                f"numbers, an object from word to score, values and data of shap, or schema {SCHEMA}"
            )
    return GivenAttributions(name, {}, tuple(entries))


def _has_schema(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("schema"), str)


def _entries(name: str) -> list[Any]:
    """Return the entries of a file: one per line, or those of the one list in the file."""
    try:
        content = read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name!r} is not UTF-8 at byte {error.start}, expected JSON") from error
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if document is None:
        entries = _lines(name, content)
    else:
        entries = list(document) if isinstance(document, list) and not _is_entry(document[:1]) else [document]
    if not entries:
        raise DataError(f"{name!r} is empty, expected attributions")
    return entries


def _lines(name: str, content: str) -> list[Any]:
    entries = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entries.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{name!r}, line {number} is not JSON ({error}), expected one attribution per line"
            ) from error
    return entries


def _is_entry(first: list[Any]) -> bool:
    """Return whether a list that begins with `first` is one entry: it begins with a [word, score] pair or a number."""
    match first:
        case [int() | float()] | [[str(), _]]:
            return True
    return False


# An underscore is punctuation, as it is to `find_words`.
_LETTERS, _AROUND = re.compile(r"[^\W_]+"), re.compile(r"^[\W_]+|[\W_]+$")


def scores_of_words(given: Mapping[str, float], text: str, words: Words) -> Floats:
    """Return each word's score `(w,)`; a word that the mapping lacks, as "doesn't", gets the sum over its
    letter runs.
    """
    as_floats(list(given.values()), (None,), "scores")
    read, uncased = [text[slice(*span)] for span in words.spans], all(word == word.lower() for word in given)
    if uncased:
        read = [word.lower() for word in read]
    scores = {**given, **_without_punctuation(given, {_bare(word) for word in read if word not in given})}
    scored = [next(([item] for item in (word, _bare(word)) if item in scores), _LETTERS.findall(word)) for word in read]
    taken = {part for parts in scored for part in parts}
    unused = [word for word, score in given.items() if score and not {word, _bare(word)} & taken]
    several = next(_several(unused, text, words, uncased=uncased), None)
    if several is not None:
        raise ShapeError(
            f"the mapping has the score {given[several]:g} for {several!r:.80}, which is several words of the text "
            f"{text[:40]!r}, expected one per word; pass (word, score) pairs in reading order"
        )
    if taken.isdisjoint(scores):
        raise ShapeError(f"none of the words {sorted(scores)[:5]} is in the text {text[:40]!r}, expected its words")
    return as_floats([sum(scores.get(part, 0.0) for part in parts) for parts in scored], (None,), "scores")


def _bare(word: str) -> str:
    """Return a word without the punctuation around it, and punctuation as it is."""
    return _AROUND.sub("", word) or word


def _without_punctuation(scores: Mapping[str, float], words: Container[str]) -> dict[str, float]:
    """Return the scores of bare words that the mapping has with or without punctuation around them."""
    bare: dict[str, float] = {}
    for word, score in scores.items():
        inner = _bare(word)
        if inner in words and bare.setdefault(inner, scores.get(inner, score)) != score:
            raise ShapeError(
                f"the mapping has several scores for {inner!r}, one is {score} for {word!r}, expected one per word; "
                "pass (word, score) pairs in reading order"
            )
    return bare


def _several(given: Sequence[str], text: str, words: Words, *, uncased: bool) -> Iterator[str]:
    """Yield the words of a mapping that are in the text where two or more of its words are, and not inside of others.

    A mapping may have a whole vocabulary. Most of its words are not in the text, which is quickly told.
    """
    ends, runs = [end for _, end in words.spans], find_words(text)
    firsts, lasts = {start for start, _ in runs}, {end for _, end in runs}
    searched, flags = (text.lower(), re.IGNORECASE) if uncased else (text, re.NOFLAG)
    for word in given:
        bare = _bare(word)
        for match in re.finditer(re.escape(bare), text, flags) if bare in searched else ():
            following = bisect_right(ends, match.start()) + 1
            reaches = following < len(ends) and words.spans[following][0] < match.end()
            if reaches and match.start() in firsts and match.end() in lasts:
                yield word


Pair = tuple[str, float]


def align(given: Any, model: Model, text: Input, *, target: int | None = None, units: Units = DEFAULT) -> Floats:
    """Return scores `(w,)` for the words of `text` that `model` reads, from an attribution made by another tool.

    Parameters
    ----------
    given
        One of

        - an `Attribution` of the same text. It must be by the same model if both models have a checksum;
        - a list of `(word, score)` pairs in reading order (`Attribution.as_list`). A "word" may be any piece of the
          text: a token, or a word with or without its punctuation. The scores of the pieces of a word are summed. The
          score of a piece that covers several words is divided among them by characters;
        - a mapping from word to score (LIME's ``dict(explanation.as_list())``). Every occurrence of a word gets its
          score. Case is ignored if the whole mapping is in lower case. Punctuation around the mapping's words is
          ignored. A word that the mapping lacks gets the sum over its runs of letters ("doesn't": doesn and t), or 0.
          No word of the mapping may be several words of the text;
        - a `shap.Explanation` of one text: its `values` `(t,)` or `(t, k)` belong to the pieces in its `data`;
        - an array or tensor `(t,)` or `(t, d)` as captum returns it, also with a leading dimension of 1. There is one
          row per token that the model reads, with or without the special tokens. The d entries of a token are summed,
          and so are the tokens of a word. `(1, n)` is one text of n tokens if the text has n tokens;
        - an array of one number per word `(w,)`;
        - the form of these in a JSON file: a list of numbers, or a mapping with the lists `values` and `data`.
    model, text, units
        The model that reads the text, and the units that get the scores; those of an `Attribution` must be the same.
    target
        Index of the class that the scores explain. An `Attribution` must explain this class. Of the k columns of a
        `shap.Explanation`, this one is taken. With None an `Attribution` may explain any class.

    Raises
    ------
    ShapeError
        If the scores do not fit the text.
    OptionError
        If `given` is none of these, if it is an `Attribution` of another class or model, or if `target` is not the
        index of a column.
    NonFiniteError
        If a score is not finite.

    Examples
    --------
    >>> from mase.models import Callable
    >>> model = Callable(lambda texts: [[0.5, 0.5] for _ in texts])
    >>> align([("Not", -1.0), ("good", 4.0), (".", 1.0)], model, "Not good.").tolist()
    [-1.0, 5.0]
    """
    tokens = model.encode(text)
    words, text = group(tokens, splitter(units)), tokens.text
    if isinstance(given, Attribution):
        return _scores_of(given, model, tokens, words, target)
    if isinstance(given, Mapping):
        if given.keys() == {"values", "data"} and all(isinstance(value, list) for value in given.values()):
            return _by_piece(_explained(SimpleNamespace(**given), target), text, words)
        return scores_of_words(dict(_pair(pair) for pair in given.items()), text, words)
    if hasattr(given, "detach"):
        return _by_token(np.asarray(given.detach().cpu()), tokens, words)
    if isinstance(given, np.ndarray):
        if _array(given) is None:
            raise ShapeError(f"the attribution is an array of {given.dtype}, expected real numbers")
        return _by_token(given, tokens, words)
    if hasattr(given, "values") and hasattr(given, "data"):
        return _by_piece(_explained(given, target), text, words)
    if isinstance(given, Sequence) and not isinstance(given, str):
        array = _array(given)
        if array is not None:
            return _by_token(array, tokens, words)
        return _by_piece([_pair(pair) for pair in given], text, words)
    raise OptionError(
        f"attribution is of type {type(given).__name__}, expected an Attribution, (word, score) pairs, a mapping from "
        "word to score, an array or tensor with one row per token, or a shap.Explanation"
    )


def check_model(given: Attribution, model: Model) -> None:
    """Check that an attribution explains this model, as far as both checksums are known.

    Raises
    ------
    OptionError
        If the checksums differ.
    """
    explained = given.model.get("sha256")
    if explained is not None and model.sha256 is not None and explained != model.sha256:
        raise OptionError(
            f"the attribution explains the model {given.model.get('name')} (sha256 {explained[:12]}), expected "
            f"{model.name} (sha256 {model.sha256[:12]}), the evaluated model; explain the texts with this model"
        )


def _masked(field: Field) -> str:
    return "nothing of it masked" if field.fixed else f"background {field.background!r}"


def _scores_of(given: Attribution, model: Model, tokens: Tokens, words: Words, target: int | None) -> Floats:
    check_model(given, model)
    for field, own in zip(given.document, tokens.document.fields, strict=False):
        if (field.name, field.text) == (own.name, own.text) and field != own:
            raise OptionError(
                f"the attribution has the field {field.name!r} with {_masked(field)}, expected {_masked(own)} as here; "
                "evaluate with the fixed fields and background values of the attribution"
            )
    if given.document != tokens.document.fields or given.units != units_of(tokens, words):
        raise ShapeError(
            f"the attribution has {len(given.spans)} words of {given.text[:40]!r}, expected the {len(words)} words "
            f"of {tokens.text[:40]!r} that the model reads; evaluate with the units of the attribution, "
            f"{given.units_name!r}, or explain the text with this model"
        )
    if target is not None and given.target != model.labels[target]:
        raise OptionError(
            f"the attribution explains the class {given.target!r}, expected {model.labels[target]!r}; "
            f"explain the text with target={model.labels[target]!r}"
        )
    return np.array(given.scores)


def _explained(given: Any, target: int | None) -> list[Pair]:
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
    """Return numbers as an array; None if anything else is among them, or if the rows differ in length."""
    try:
        array = np.asarray(given)
    except ValueError:
        return None
    return array if array.dtype.kind in "iuf" else None


def _pair(given: Any) -> Pair:
    if not isinstance(given, Sequence) or len(given) != 2 or not isinstance(given[0], str):
        raise ShapeError(f"the attribution holds {given!r:.60}, expected (word, score)")
    return given[0], _number(given[1], given)


def _number(score: Any, pair: Any) -> float:
    """Return a score as a float. Scalars of NumPy and torch are numbers; text and booleans are not."""
    try:
        if isinstance(score, str | bytes | bool | np.bool_):
            raise TypeError
        return float(score)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"the attribution holds {pair!r:.60}, expected (word, score) with a number") from None


def _by_token(given: np.ndarray, tokens: Tokens, words: Words) -> Floats:
    """Return the sums of rows `(t,)` or `(t, d)` over the tokens of each word.

    The array may have a leading dimension of 1, and may leave the special tokens out.
    """
    free = np.flatnonzero(~np.array(tokens.fixed))
    of_token = np.array(words.of_token)
    word_of_row = {len(tokens): of_token, len(free): of_token[free], len(words): np.arange(len(words))}
    array = _of_one_text(given, word_of_row)
    if array.ndim not in (1, 2) or len(array) not in word_of_row or not array.size:
        raise ShapeError(
            f"the attribution has shape {given.shape}, expected ({len(tokens)},) or ({len(tokens)}, d): one row per "
            f"token that the model reads ({len(free)} without special tokens), or one number for each of {len(words)} "
            "words"
        )
    rows = as_floats(array.astype(np.float64), (None,) * array.ndim, "attribution").reshape(len(array), -1).sum(axis=1)
    word = word_of_row[len(array)]
    return np.asarray(np.bincount(word[word >= 0], weights=rows[word >= 0], minlength=len(words)), dtype=np.float64)


def _of_one_text(given: np.ndarray, lengths: Container[int]) -> np.ndarray:
    """Return the array without a leading dimension of 1; `(1, d)` may also hold the d entries of the only token."""
    leads = given.ndim == 3 or (given.ndim == 2 and (given.shape[1] in lengths or 1 not in lengths))
    return np.asarray(given[0]) if leads and given.shape[0] == 1 else given


def _by_piece(pairs: Sequence[Pair], text: str, words: Words) -> Floats:
    """Return the summed scores of the pieces of each word; a piece of several words is divided by characters."""
    as_floats([score for _, score in pairs], (None,), "scores")
    scores, covered = np.zeros(len(words)), np.zeros(len(words), dtype=np.int64)
    for span, score in _piece_spans(pairs, text, words):
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


def _piece_spans(pairs: Sequence[Pair], text: str, words: Words) -> list[tuple[Span, float]]:
    """Return the spans of the pieces with their scores.

    As many pieces as words, with their texts, are the words. Else the first piece is searched at the start of the text,
    or where the first word begins that the model reads.
    """
    own = [text[start:end] for start, end in words.spans]
    if [piece for piece, _ in pairs] == own:
        return [(span, score) for span, (_, score) in zip(words.spans, pairs, strict=True)]
    try:
        return list(_located(pairs, text, 0))
    except ShapeError:
        first = words.spans[0][0] if len(words) else 0
        if not first:
            raise
        return list(_located(pairs, text, first))


def _located(pairs: Sequence[Pair], text: str, at: int) -> Iterator[tuple[Span, float]]:
    """Yield the span and the score of each piece, in order from `at` on, with no letter or digit between two pieces.

    Pieces of white space alone are skipped.
    """
    for piece, score in pairs:
        wanted = piece.strip()
        if not wanted:
            continue
        gap = next(stop for stop in range(at, len(text) + 1) if stop == len(text) or text[stop].isalnum())
        start = next((start for start in range(at, gap + 1) if _is_at(wanted, text, start)), None)
        if start is None:
            raise ShapeError(
                f"the scores have the piece {wanted[:40]!r} where the text has {text[at : at + 20]!r} (position {at}), "
                "expected the pieces of the text in reading order"
            )
        at = start + len(wanted)
        yield (start, at), score


def _is_at(piece: str, text: str, at: int) -> bool:
    """Return whether the text has the piece at a position; uncased tokenizers give it in lower case."""
    here = text[at : at + len(piece)]
    return here == piece or here.lower() == piece.lower()
