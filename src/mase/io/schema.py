"""Schema ``mase.attribution/1``: from plain JSON types to results, every value checked. `docs/json.md` describes it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mase.attribution import Attribution, Fit, Note, Prediction, Token, Word
from mase.errors import DataError
from mase.io.record import Record
from mase.links import links
from mase.text import Truncation

__all__ = ["ERROR_SCHEMA", "SCHEMA", "Failure", "from_dict", "result"]

SCHEMA = "mase.attribution/1"
ERROR_SCHEMA = "mase.error/1"


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be explained: its line (or number) in the input, the error's type and its message."""

    line: int
    error: str
    message: str


def result(document: Any, *, place: str) -> Attribution | Failure:
    """Return the attribution, or the failure that takes its place, in a JSON document; `place` names it in errors.

    Raises
    ------
    DataError
        If it is neither, or a value is not what it can be.
    """
    if isinstance(document, dict) and document.get("schema") == ERROR_SCHEMA:
        record = Record(document, place)
        return Failure(record.count("line", 1), record.name("error"), record.get("message", str))
    return from_dict(document, place=place)


def from_dict(mapping: Mapping[str, Any], *, place: str = "the mapping") -> Attribution:
    """Return the attribution that `to_dict` made into `mapping`; `place` names it in errors.

    Raises
    ------
    DataError
        If it has another schema, lacks a key, or a value is of the wrong type or not what it can be.
    """
    record = Record(mapping, place)
    _check_schema(record)
    prediction = _prediction(record.record("prediction"))
    text, labels = record.get("text", str), prediction.probabilities
    if record.get("target", str) not in labels:
        raise record.wrong("target", f"one of the labels that have a probability, {', '.join(list(labels)[:5]):.200}")
    if record.get("link", str) not in links():
        raise record.wrong("link", f"one of {', '.join(links())}")
    words = _words(record, text)
    return Attribution(
        text=text,
        prediction=prediction,
        target=record.get("target", str),
        target_probability=record.probability("target_probability"),
        link=record.get("link", str),
        response=record.number("response"),
        word_scores=words,
        tokens=tuple(_token(token, len(text), len(words)) for token in _some(record, "tokens")),
        fit=_fit(record.record("fit"), len(words)),
        method=_named(record, "method"),
        model=_named(record, "model"),
        seed=record.count("seed"),
        versions=record.table("versions"),
        truncation=None if record.optional("truncated", dict) is None else _truncation(record.record("truncated")),
    )


def _prediction(record: Record) -> Prediction:
    """Return the prediction; the class of an index is that of its label."""
    chances = record.record("probabilities")
    labels = list(chances.values)
    label, index = record.get("label", str), record.count("index")
    if label not in labels:
        raise record.wrong("label", f"one of the labels that have a probability, {', '.join(labels[:5]):.200}")
    if labels.index(label) != index:
        raise record.wrong("index", f"{labels.index(label)}, the place of {label!r:.40} among the probabilities")
    probability, stated = chances.probability(label), record.probability("probability")
    if not math.isclose(stated, probability, rel_tol=1e-6, abs_tol=1e-9):
        raise record.wrong("probability", f"{probability:g}, that of {label!r:.40}")
    return Prediction(label, index, stated, {name: chances.probability(name) for name in labels})


def _words(record: Record, text: str) -> tuple[Word, ...]:
    """Return the words, in reading order."""
    words = tuple(_word(word, text) for word in _some(record, "words"))
    for before, after in pairwise(words):
        if after.start < before.end:
            raise record.wrong(
                "words", f"each word behind the one before, unlike {before.text!r:.40} and {after.text!r:.40}"
            )
    return words


def _some(record: Record, key: str) -> list[Record]:
    """Return the objects in the list of a key, which is never empty: a text without a word has no attribution."""
    found = list(record.records(key))
    if not found:
        raise record.wrong(key, "at least one")
    return found


def _named(record: Record, key: str) -> dict[str, Any]:
    """Return the object of a key as a dictionary, which has a name at least."""
    record.record(key).name("name")
    return record.table(key)


def _check_schema(record: Record) -> None:
    if not isinstance(record.values, Mapping):
        raise DataError(f"{record.place} holds a {type(record.values).__name__}, expected an object of schema {SCHEMA}")
    found = record.values.get("schema")
    if found != SCHEMA:
        raise DataError(
            f"{record.place} has the schema {found!r:.80}, expected {SCHEMA!r}; "
            "if a later release wrote it, read it with that release"
        )


def _word(record: Record, text: str) -> Word:
    start, end = record.get("start", int), record.get("end", int)
    _check_span(record, start, end, len(text))
    if record.get("text", str) != text[start:end]:
        raise record.wrong("text", f"{text[start:end]!r:.60}, which the text has from {start} to {end}")
    if start == end:
        raise record.wrong("end", "more than 'start': no word is empty")
    error = record.optional_number("standard_error")
    if error is not None and error < 0:
        raise record.wrong("standard_error", "a number >= 0, or null")
    return Word(text[start:end], start, end, record.number("score"), error)


def _check_span(record: Record, start: int, end: int, length: int) -> None:
    if not 0 <= start <= end <= length:
        raise DataError(
            f"{record.place} spans {start} to {end}, expected a span within the {length} characters of the text"
        )


def _token(record: Record, length: int, n_words: int) -> Token:
    start, end, word = (record.optional(key, int) for key in ("start", "end", "word"))
    if start is not None and end is not None:
        _check_span(record, start, end, length)
    if word is not None and not 0 <= word < n_words:
        raise record.wrong("word", f"the number of one of the {n_words} words, from 0 on")
    return Token(record.get("text", str), start, end, word, record.optional_number("score"))


def _note(record: Record, n_words: int) -> Note:
    word = record.optional("word", int) if "word" in record.values else None  # absent in files of earlier releases
    if word is not None and not 0 <= word < n_words:
        raise record.wrong("word", f"the number of one of the {n_words} words, from 0 on")
    return Note(record.name("code"), record.get("message", str), word)


def _fit(record: Record, n_words: int) -> Fit:
    return Fit(
        r2=record.optional_within("r2", -math.inf, 1),
        split_half=record.optional_within("split_half", -1, 1),
        condition=record.optional_within("condition", 0),
        n_queries=record.count("n_queries"),
        n_gradients=record.count("n_gradients"),
        seconds=record.within("seconds", 0),
        warnings=tuple(_note(note, n_words) for note in record.records("warnings")),
    )


def _truncation(record: Record) -> Truncation:
    kept = record.get("kept", str)
    if kept not in ("start", "end"):
        raise record.wrong("kept", "'start' or 'end'")
    if record.count("n_kept") > record.count("n_total"):
        raise record.wrong("n_kept", f"at most {record.count('n_total')}, the number of all tokens")
    return Truncation(record.count("n_kept"), record.count("n_total"), "start" if kept == "start" else "end")
