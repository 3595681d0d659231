"""Attributions as JSON, schema ``mase.attribution/1``: what is written loads back equal. `docs/json.md` describes it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from mase.attribution import Attribution, Fit, Note, Prediction, Token, Word
from mase.errors import DataError
from mase.files import write_text
from mase.io.record import Record
from mase.links import links
from mase.text import Truncation

__all__ = ["ERROR_SCHEMA", "SCHEMA", "Failure", "dumps", "from_dict", "load", "load_many", "save", "to_dict"]

SCHEMA = "mase.attribution/1"
ERROR_SCHEMA = "mase.error/1"

# Line ends to some readers of JSONL, commands to some terminals, and code points that no UTF-8 file can hold.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be explained: its line (or number) in the input, the error's type and its message."""

    line: int
    error: str
    message: str


def to_dict(attribution: Attribution) -> dict[str, Any]:
    """Return an attribution as plain JSON types."""
    a = attribution
    return {
        "schema": SCHEMA,
        "text": a.text,
        "prediction": {
            "label": a.prediction.label,
            "index": a.prediction.index,
            "probability": a.prediction.probability,
            "probabilities": dict(a.prediction.probabilities),
        },
        "target": a.target,
        "target_probability": a.target_probability,
        "link": a.link,
        "response": a.response,
        "intercept": a.intercept,
        "words": [_fields(word, "text", "start", "end", "score", "standard_error") for word in a.word_scores],
        "tokens": [_fields(token, "text", "start", "end", "word", "score") for token in a.tokens],
        "fit": _fields(a.fit, "r2", "split_half", "condition", "n_queries", "n_gradients", "seconds")
        | {"warnings": [_fields(note, "code", "message", "word") for note in a.fit.warnings]},
        "method": dict(a.method),
        "model": dict(a.model),
        "seed": a.seed,
        "versions": dict(a.versions),
        "truncated": None if a.truncation is None else _fields(a.truncation, "n_kept", "n_total", "kept"),
    }


def dumps(value: Attribution | Failure) -> str:
    """Return an attribution (or the failure that takes its place) as one line of strict JSON, without the line end.

    Raises
    ------
    DataError
        If it holds a number that is not finite, or something that JSON has no word for.
    """
    if isinstance(value, Failure):
        plain: dict[str, Any] = {"schema": ERROR_SCHEMA} | _fields(value, "line", "error", "message")
    else:
        plain = to_dict(value)
    try:
        line = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=_number)
    except (TypeError, ValueError) as error:
        raise DataError(f"the result cannot be written as JSON ({error}), expected plain and finite values") from error
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def save(attribution: Attribution, path: str | PathLike[str]) -> None:
    """Write an attribution to `path`, whole or not at all, as one line of JSON.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    write_text(path, dumps(attribution) + "\n")


def load(path: str | PathLike[str]) -> Attribution:
    """Return the attribution in a JSON file, equal to the one that was saved.

    Raises
    ------
    DataError
        If the file is missing, is not JSON, is not one attribution of schema ``mase.attribution/1``, or lacks something.
    """
    found = load_many(path)
    if len(found) != 1:
        raise DataError(f"{fspath(path)!r} holds {len(found)} results, expected one; read it with mase.io.json.load_many(path)")
    if isinstance(found[0], Failure):
        raise DataError(f"{fspath(path)!r} holds no attribution but a failure ({found[0].error}: {found[0].message})")
    return found[0]


def load_many(path: str | PathLike[str]) -> list[Attribution | Failure]:
    """Return the results in a JSONL file (or the one in a JSON file) in order; failed lines come as `Failure`.

    Raises
    ------
    DataError
        If the file is missing, or a line is neither an attribution nor a failure; the message names the line.
    """
    return [_result(document, place) for document, place in _documents(path)]


def from_dict(mapping: Mapping[str, Any], *, place: str = "the mapping") -> Attribution:
    """Return the attribution that `to_dict` made into `mapping`; `place` names it in errors.

    Raises
    ------
    DataError
        If it has another schema, lacks a key, or a value is of the wrong type.
    """
    record = Record(mapping, place)
    _check_schema(record)
    prediction = record.record("prediction")
    text = record.get("text", str)
    words = tuple(_word(word, text) for word in record.records("words"))
    labels = prediction.table("probabilities").keys()
    for holder, key in ((prediction, "label"), (record, "target")):
        if holder.get(key, str) not in labels:
            raise holder.wrong(key, f"one of the labels that have a probability, {', '.join(list(labels)[:5])}")
    if record.get("link", str) not in links():
        raise record.wrong("link", f"one of {', '.join(links())}")
    return Attribution(
        text=text,
        prediction=Prediction(
            label=prediction.get("label", str),
            index=prediction.get("index", int),
            probability=prediction.number("probability"),
            probabilities={
                label: prediction.record("probabilities").number(label) for label in prediction.table("probabilities")
            },
        ),
        target=record.get("target", str),
        target_probability=record.number("target_probability"),
        link=record.get("link", str),
        response=record.number("response"),
        word_scores=words,
        tokens=tuple(_token(token, len(text), len(words)) for token in record.records("tokens")),
        fit=_fit(record.record("fit"), len(words)),
        method=record.table("method"),
        model=record.table("model"),
        seed=record.get("seed", int),
        versions=record.table("versions"),
        truncation=None if record.optional("truncated", dict) is None else _truncation(record.record("truncated")),
    )


def _fields(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _number(value: object) -> int | float:
    """Return a NumPy scalar as the number it is."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _documents(path: str | PathLike[str]) -> Iterator[tuple[Any, str]]:
    """Yield each JSON document of a file with its place: the whole file if it is one, else line by line."""
    name = fspath(path)
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {name!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{name!r} is not UTF-8 at byte {error.start}, expected a JSON file") from error
    lines = [(number, line) for number, line in enumerate(content.split("\n"), 1) if line.strip()]
    if not lines:
        raise DataError(f"{name!r} is empty, expected JSON of schema {SCHEMA}")
    try:
        first = [(_parse(lines[0][1]), f"{name!r}, line {lines[0][0]}" if len(lines) > 1 else repr(name))]
    except ValueError as error:  # not one document per line: perhaps one that was laid out over many
        yield _whole(content, name, error), repr(name)
        return
    yield from chain(
        first, ((_line(line, f"{name!r}, line {number}"), f"{name!r}, line {number}") for number, line in lines[1:])
    )


def _whole(content: str, name: str, of_first_line: ValueError) -> Any:
    try:
        return _parse(content)
    except ValueError:
        raise DataError(f"{name!r} is not JSON ({of_first_line}), expected schema {SCHEMA}") from of_first_line


def _line(line: str, place: str) -> Any:
    try:
        return _parse(line)
    except ValueError as error:
        raise DataError(f"{place} is not JSON ({error}), expected schema {SCHEMA}") from error


def _parse(content: str) -> Any:
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number in JSON")


def _result(document: Any, place: str) -> Attribution | Failure:
    if isinstance(document, dict) and document.get("schema") == ERROR_SCHEMA:
        record = Record(document, place)
        return Failure(record.get("line", int), record.get("error", str), record.get("message", str))
    return from_dict(document, place=place)


def _check_schema(record: Record) -> None:
    if not isinstance(record.values, Mapping):
        raise DataError(f"{record.place} holds a {type(record.values).__name__}, expected an object of schema {SCHEMA}")
    found = record.values.get("schema")
    if found != SCHEMA:
        raise DataError(
            f"{record.place} has the schema {found!r}, expected {SCHEMA!r}; "
            "if a later release wrote it, read it with that release"
        )


def _word(record: Record, text: str) -> Word:
    start, end = record.get("start", int), record.get("end", int)
    _check_span(record, start, end, len(text))
    if record.get("text", str) != text[start:end]:
        raise record.wrong("text", f"{text[start:end]!r:.60}, which the text has from {start} to {end}")
    error = record.optional_number("standard_error")
    if error is not None and error < 0:
        raise record.wrong("standard_error", "a number >= 0, or null")
    return Word(text[start:end], start, end, record.number("score"), error)


def _check_span(record: Record, start: int, end: int, length: int) -> None:
    if not 0 <= start <= end <= length:
        raise DataError(f"{record.place} spans {start} to {end}, expected a span within the {length} characters of the text")


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
    return Note(record.get("code", str), record.get("message", str), word)


def _fit(record: Record, n_words: int) -> Fit:
    return Fit(
        r2=record.optional_number("r2"),
        split_half=record.optional_number("split_half"),
        condition=record.optional_number("condition"),
        n_queries=record.get("n_queries", int),
        n_gradients=record.get("n_gradients", int),
        seconds=record.number("seconds"),
        warnings=tuple(_note(note, n_words) for note in record.records("warnings")),
    )


def _truncation(record: Record) -> Truncation:
    kept = record.get("kept", str)
    if kept not in ("start", "end"):
        raise record.wrong("kept", "'start' or 'end'")
    return Truncation(record.get("n_kept", int), record.get("n_total", int), "start" if kept == "start" else "end")
