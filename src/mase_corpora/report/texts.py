"""The searchable list of texts in a report.

A page that was opened as a file may not fetch data, but it may load scripts. Each file is one call whose argument is
JSON, and the page inserts what it gets as text only.
"""

import math
import re
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

import msgspec
import numpy as np

from mase import text as characters
from mase.arrays import Bools, Floats, Ints
from mase.attribution.attribution import Word
from mase.attribution.evidence import NEGLIGIBLE
from mase.attribution.response import Z95
from mase.methods import METHODS, Configuration, describe
from mase.models.language.answers import ANSWER
from mase.render.marks import SHADES, Scale, inline, isolated, visible
from mase.render.wording import percent, share
from mase.sources.labelled import spellings
from mase.sources.rows import fields_of
from mase.target import label_index
from mase.text import shortened
from mase_corpora.read import Run

if TYPE_CHECKING:
    import pyarrow as pa


_MOST_SOURCES, _UNITS_LARGEST_ERROR = 20, 1e300

# Starts, ends, scores and standard errors, each `(w,)`.
Words = tuple[Ints, Ints, Floats, Floats]

# Name and text of a field of a document.
FieldText = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a part as columns `(u,)`, sorted by text.

    `response` and `field` number the names in `responses` and `fields`.
    """

    rows: Ints
    responses: list[str | None]
    response: Ints
    fields: list[str | None]
    field: Ints
    starts: Ints
    ends: Ints
    scores: Floats
    errors: Floats
    cited: Bools

    @classmethod
    def of(cls, table: "pa.Table") -> "Units":
        """Return the columns of the table of units of a part."""
        order = np.argsort(_numbers(table, "row", -1), kind="stable")
        responses, response = _coded(table, "response")
        fields, field = _coded(table, "field")
        return cls(
            rows=_numbers(table, "row", -1)[order],
            responses=responses,
            response=response[order],
            fields=fields,
            field=field[order],
            starts=np.maximum(_numbers(table, "start", 0), 0)[order],
            ends=_numbers(table, "end", 0)[order],
            scores=_floats(table, "score")[order],
            errors=_interval_errors(table)[order],
            cited=table.column("cited").fill_null(False).to_numpy()[order],
        )

    def of_text(self, row: int, response: str | None, fields: Sequence[FieldText]) -> Words:
        """Return the words of one text and response, with places in its fields joined by line ends."""
        first, last = np.searchsorted(self.rows, [row, row + 1])
        here = slice(int(first), int(last))
        offsets = dict(zip((name for name, _ in fields), _offsets(fields), strict=True))
        code = next((index for index, name in enumerate(self.responses) if name == response), -1)
        starts, ends = self.starts[here], self.ends[here]
        of_response = self.response[here] == code
        result: list[Words] = []
        for index, name in enumerate(self.fields):
            if name in offsets:
                chosen = of_response & (self.field[here] == index)
                start, size = offsets[name]
                result.append(
                    (
                        start + np.minimum(starts[chosen], size),
                        start + np.minimum(ends[chosen], size),
                        self.scores[here][chosen],
                        self.errors[here][chosen],
                    )
                )
        return _joined(result)

    def sources(self, row: int, fields: Sequence[FieldText]) -> list[Word]:
        """Return the units of one text that are sources of its answer, or of a part of it, the strongest first.

        There are at most `_MOST_SOURCES`, whatever a run of somebody else says.
        """
        first, last = np.searchsorted(self.rows, [row, row + 1])
        places = first + np.flatnonzero(self.cited[first:last])
        texts, result = dict(fields), dict[tuple[str, int, int], Word]()
        for place in places[np.argsort(-self.scores[places], kind="stable")].tolist():
            name, start, end = self.fields[self.field[place]] or "", int(self.starts[place]), int(self.ends[place])
            error = None if isnan(self.errors[place]) else min(float(self.errors[place]), _UNITS_LARGEST_ERROR)
            word = Word(texts.get(name, "")[start:end], start, end, name, float(self.scores[place]), error)
            result.setdefault((name, start, end), word)
            if len(result) == _MOST_SOURCES:
                break
        return list(result.values())

    def n_fields(self, row: int) -> int:
        """Return the number of fields of one text that have units."""
        first, last = np.searchsorted(self.rows, [row, row + 1])
        return len(np.unique(self.field[first:last]))


def _offsets(fields: Sequence[FieldText]) -> Iterator[tuple[int, int]]:
    """Yield where each field starts, and its length."""
    start = 0
    for _, text in fields:
        yield start, len(text)
        start += len(text) + 1


def _joined(words: Sequence[Words]) -> Words:
    if len(words) == 1:
        return words[0]
    empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    starts, ends, scores, errors = zip(empty, *words, strict=True)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(scores), np.concatenate(errors)


def _numbers(table: "pa.Table", name: str, missing: int) -> Ints:
    return np.asarray(table.column(name).fill_null(missing).to_numpy(), dtype=np.int64)


def _floats(table: "pa.Table", name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def _interval_errors(table: "pa.Table") -> Floats:
    """Return the errors of which intervals are shown: total errors, or standard errors in runs without these."""
    total = _floats(table, "total_error")
    return np.where(np.isnan(total), _floats(table, "standard_error"), total)


def _coded(table: "pa.Table", name: str) -> tuple[list[str | None], Ints]:
    """Return the different values of a column of strings, and the number of each row's value (-1: missing)."""
    coded = table.column(name).combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(
        coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64
    )


# Numbers of a word: start and length in characters, score, half the width of the 95 % interval (-1: none), and shade.
_COLUMNS = 5
_LARGEST, _SHADING_LARGEST_ERROR = 10**15, 1e300  # the first is one that JavaScript holds exactly


@dataclass(frozen=True, slots=True)
class Shading:
    """The w words of a text.

    Attributes
    ----------
    words
        Integers `(w, 5)`: start and length in characters; score and half the width of its 95 % interval (-1 if it has
        none) in multiples of `unit`; shade (0 if the word is not marked, 1 to 6 by strength, 7 to 12 if the interval
        includes 0).
    unit
        The value of the last digit that is kept.
    decimals
        Decimals of scores; None if they are shown with an exponent.
    signs
        Whether a sign means something; if not, no number has a plus.
    """

    words: Ints
    unit: float
    decimals: int | None
    signs: bool = True

    @property
    def scale(self) -> Scale:
        """The scale of the text, by which its scores are formatted."""
        return Scale(0.0, self.decimals, not len(self.words) or bool(np.any(self.words[:, 3] >= 0)), self.signs)

    def packed(self) -> str:
        """Return the integers of all words, separated by spaces."""
        return " ".join(map(str, self.words.ravel().tolist()))


def shading(
    text: str, starts: Ints, ends: Ints, scores: Floats, errors: Floats, *, signs: bool = True, marks: bool = True
) -> Shading:
    """Return the shades of w words of a text.

    Parameters
    ----------
    text
        The text.
    starts, ends
        Spans of the words in the text `(w,)`. What lies outside is left out; if two words overlap, the second starts
        where the first ends.
    scores, errors
        Scores and standard errors `(w,)`; the error is NaN if a score is not an estimate. If all errors are 0, the
        scores are exact and have no interval.
    signs
        Whether a sign of the scores means something.
    marks
        Whether anything matters, so that words are marked.
    """
    order = np.argsort(starts, kind="stable")
    ends = np.minimum(ends[order], len(text))
    covered = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
    starts = np.maximum(starts[order], covered)
    kept = starts < ends
    starts, ends = starts[kept], ends[kept]
    scores = np.nan_to_num(scores[order][kept], posinf=0.0, neginf=0.0)
    errors = Z95 * np.minimum(errors[order][kept], _SHADING_LARGEST_ERROR)
    errors = errors if np.any(errors > 0) else np.full_like(errors, np.nan)
    maximum = float(np.abs(scores).max(initial=0.0))
    scale = Scale.of(maximum, marks=marks)
    unit = _last_digit(maximum, scale)
    shades = scale.levels(scores, len(SHADES))
    insignificant = ~np.isnan(errors) & (np.abs(scores) <= errors)
    widths = np.minimum(np.ceil(errors / unit - 1e-9), _LARGEST)
    words = np.stack(
        [
            starts,
            ends - starts,
            np.rint(scores / unit).astype(np.int64),
            np.nan_to_num(widths, nan=-1.0).astype(np.int64),
            shades + len(SHADES) * (insignificant & (shades > 0)),
        ],
        axis=1,
    )
    assert words.shape[1] == _COLUMNS
    return Shading(words, unit, scale.decimals, signs)


def _last_digit(maximum: float, scale: Scale) -> float:
    """Return the value of the last digit that is kept; with an exponent, more than are shown, for small errors."""
    if scale.decimals is not None:
        return 10.0**-scale.decimals
    return 10.0 ** max(-300, math.floor(math.log10(maximum)) - 5)


_ANSWERS_LONGEST, _LONGEST_SOURCE = 4_000, 200


@dataclass(frozen=True, slots=True)
class Source:
    """A source of an answer.

    Attributes
    ----------
    place
        The name of its field; empty if the units of the prompt are all in the same one.
    text
        The beginning of its text, on one line.
    score
        Its score, with half the width of the 95 % interval.
    """

    place: str
    text: str
    score: str


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer, cut if it is very long, and its sources, the strongest first."""

    text: str
    sources: tuple[Source, ...]

    @classmethod
    def of(cls, text: str, words: Sequence[Word], scale: Scale, *, named: bool) -> Self:
        """Return an answer with these units as its sources; `named` says whether the names of their fields matter."""
        result = [
            Source(
                place=shortened(inline(word.field), _LONGEST_SOURCE) if named else "",
                text=shortened(inline(" ".join(word.text.split())), _LONGEST_SOURCE),
                score=scale.interval(word),
            )
            for word in words
        ]
        return cls(shortened(visible(text), _ANSWERS_LONGEST), tuple(result))


# What a text can be filtered by.
FAILED, WRONG, LOW_CONFIDENCE, NOTED, CARE = 1, 2, 4, 8, 16

# The code of the note on scores without a direction.
UNSIGNED = "unsigned"

# A report shows this many characters of a text.
_ENTRIES_LONGEST = 20_000
_LONGEST_MESSAGE, _LONGEST_VALUE, _MOST_NOTES = 1_000, 200, 20


@dataclass(frozen=True, slots=True)
class Flags:
    """What counts as wrong and as low confidence, as in the summary of the run.

    Attributes
    ----------
    label_column
        Name of the kept column with the label; None if there is none.
    low_confidence
        A prediction with a smaller probability has a low confidence; None if no prediction has.
    """

    label_column: str | None = None
    low_confidence: float | None = None

    def of(self, text: Mapping[str, Any], classes: Sequence[str]) -> int:
        """Return the flags of a row of the table of texts of a model with these classes."""
        if text["error"] is not None:
            return FAILED
        label = self.label(text, classes)
        probability, threshold = text["probability"], self.low_confidence
        return (
            WRONG * (label is not None and label != text["prediction"])
            | LOW_CONFIDENCE * (threshold is not None and probability is not None and probability < threshold)
            | NOTED * bool(text["notes"])
        )

    def label(self, text: Mapping[str, Any], classes: Sequence[str]) -> str | None:
        """Return the class that is right for a text; None if that is not known."""
        written = None if self.label_column is None else text[self.label_column]
        result = (label_index(classes, name) for name in spellings(written or ""))
        return next((classes[index] for index in result if index is not None), None)


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of the list.

    Attributes
    ----------
    row, id
        Its number in the input, from 0, and its name.
    flags
        Sum of FAILED, WRONG, LOW_CONFIDENCE, NOTED and CARE (to be read with care).
    label
        The class that is right; None if that is not known.
    prediction, probability
        The predicted class and its probability; None if the text failed.
    response, against, link, r2
        The explained response (of several the one of the predicted class), the class that it is compared with, its
        link, and how well the scores fit.
    split_half, n_queries
        Agreement of two halves of the sample, and evaluations of the model.
    text
        The start of the text as it is shown, without control characters. Its fields are on lines of their own, without
        that of an answer.
    n_characters
        Length of the whole text.
    given
        The text as the model got it, for a link that explains it again; None if it has several fields, or if it or the
        name of a class is cut.
    shading
        The words of the shown text.
    unsigned
        Whether the sign of the scores has no meaning.
    notes
        Code and message of each note.
    error, message
        Type and message of the error of a text that failed.
    kept
        Values of the kept columns.
    answer
        The answer of a language model that is explained; None for another model, or if the text failed.
    """

    row: int
    id: str
    flags: int
    label: str | None
    prediction: str | None
    probability: float | None
    response: str | None
    against: str | None
    link: str | None
    r2: float | None
    split_half: float | None
    n_queries: int | None
    text: str
    n_characters: int
    given: str | None
    shading: Shading
    unsigned: bool
    notes: tuple[tuple[str, str], ...]
    error: str | None
    message: str | None
    kept: tuple[str | None, ...]
    answer: CitedAnswer | None


def entries(run: Run, flags: Flags) -> Iterator[Entry]:
    """Yield the texts of the finished parts of a run, in order; one part is in memory at a time."""
    kept, classes = run.manifest.asked.kept, run.manifest.labels
    for part in run.parts:
        by_row = _responses(run.part("responses", part))
        words = Units.of(run.part("units", part))
        for text in run.part("texts", part).to_pylist():
            yield _entry(text, by_row.get(text["row"], []), words, flags, classes, kept)


def _entry(
    text: Mapping[str, Any],
    responses: Sequence[Mapping[str, Any]],
    units: Units,
    flags: Flags,
    classes: Sequence[str],
    kept: Sequence[str],
) -> Entry:
    response = next((result for result in responses if result["response"] == text["prediction"]), None)
    response = response or next(iter(responses), {})
    text = {**text, "notes": _own_notes(text, response, responses)}
    given, answer = fields_of(text["document"], text["row"]), text["explained_answer"]
    fields = [field for field in given if answer is None or field[0] != ANSWER]  # the answer is shown by itself
    content = "\n".join(field for _, field in fields)
    scored = units.of_text(text["row"], response.get("response"), fields)
    are_whole = all(name == _one_line(name) for name in (response.get("response"), response.get("against")))
    notes = tuple(
        (one_line(note["code"] or ""), one_line(note["message"] or "", _LONGEST_MESSAGE))
        for note in (text["notes"] or ())[:_MOST_NOTES]
    )
    codes = {code for code, _ in notes}
    shades = {"signs": UNSIGNED not in codes, "marks": NEGLIGIBLE not in codes}
    shown, words = _shown(content[:_ENTRIES_LONGEST], scored, **shades)
    return Entry(
        row=text["row"],
        id=one_line(text["id"] or ""),
        flags=flags.of(text, classes) | CARE * (response.get("reliable") is False),
        label=_one_line(flags.label(text, classes)),
        prediction=_one_line(text["prediction"]),
        probability=_finite(text["probability"]),
        response=_one_line(response.get("response")),
        against=_one_line(response.get("against")),
        link=_one_line(response.get("link")),
        r2=_finite(response.get("r2")),
        split_half=_finite(text["split_half"]),
        n_queries=text["n_queries"],
        text=shown,
        n_characters=len(content),
        given=content if len(given) == 1 and len(content) <= _ENTRIES_LONGEST and are_whole else None,
        shading=words,
        unsigned=bool(np.isnan(scored[-1]).all()) or not words.signs,
        notes=notes,
        error=_one_line(text["error"]),
        message=_one_line(text["message"], _LONGEST_MESSAGE),
        kept=tuple(_one_line(text[name], _LONGEST_VALUE) for name in kept),
        answer=None
        if answer is None
        else CitedAnswer.of(
            answer, units.sources(text["row"], fields), words.scale, named=units.n_fields(text["row"]) > 1
        ),
    )


def _own_notes(
    text: Mapping[str, Any], response: Mapping[str, Any], responses: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the notes on a text and on one of its responses; those of a text have the ones on the first response."""
    of_first = responses[0]["response_notes"] if responses else None
    common = [note for note in text["notes"] or () if note not in (of_first or ())]
    return [*(response.get("response_notes") or ()), *common]


def one_line(text: str, longest: int = 100) -> str:
    """Return a name or a message from outside on one line, without control characters, and cut."""
    return inline(characters.shortened(text, longest))


def _one_line(text: str | None, longest: int = 100) -> str | None:
    return None if text is None else one_line(text, longest)


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _shown(text: str, words: Words, *, signs: bool, marks: bool) -> tuple[str, Shading]:
    """Return a text without control characters, and its words.

    A control character is shown as several characters, which moves the words after it.
    """
    result = shading(text, *words, signs=signs, marks=marks)
    shown = visible(text)
    if shown == text:
        return text, result
    starts, lengths = result.words[:, 0], result.words[:, 1]
    cuts = [0, *np.stack([starts, starts + lengths], axis=1).ravel().tolist(), len(text)]
    parts = [visible(text[start:end]) for start, end in pairwise(cuts)]
    places = np.array([0, *accumulate(map(len, parts))], dtype=np.int64)
    result.words[:, 0] = places[1:-1:2]
    result.words[:, 1] = places[2::2] - places[1:-1:2]
    return "".join(parts), result


def _responses(table: "pa.Table") -> dict[int, list[dict[str, Any]]]:
    result: dict[int, list[dict[str, Any]]] = {}
    columns = ["row", "response", "against", "link", "r2", "reliable", "response_notes"]
    for response in table.select(columns).to_pylist():
        result.setdefault(response["row"], []).append(response)
    return result


FOLDER = "list"
_INDEX = "index.js"

# The files of the list. A search loads the texts of all slices; the words of a slice are loaded when a text is opened.
FILE = re.compile(r"(index|(texts|words)-[0-9]{5,9})\.js")

# A slice ends with the first of these; one page of a sorted list loads up to 25 slices.
TEXTS_PER_SLICE, BYTES_PER_SLICE = 256, 500_000

# The classes by which the list can be filtered, in the order in which they appear; the others are one class to it.
MOST_CLASSES = 1_000
_NONE_16, _NONE_8 = 0xFFFF, 0xFF

# "<" so that a text cannot end a script element, and the two line ends that are none in JSON.
_ESCAPED = ((b"<", b"\\u003c"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))


def script(function: str, *values: Any) -> bytes:
    """Return a script that calls a function of the page with values as JSON.

    Examples
    --------
    >>> script("mase.slice", 0, ["</script>"])
    b'mase.slice(0,["\\\\u003c/script>"])\\n'
    """
    arguments = msgspec.json.encode(values)[1:-1]
    for character, escaped in _ESCAPED:
        arguments = arguments.replace(character, escaped)
    return function.encode() + b"(" + arguments + b")\n"


class ListWriter:
    """Write the list, text by text; the memory is that of a slice, and six bytes per text.

    Parameters
    ----------
    folder
        The folder of the list, which exists.
    kept
        Names of the kept columns.
    """

    def __init__(self, folder: Path, kept: Sequence[str]) -> None:
        self._folder, self._kept = folder, tuple(kept)
        self._classes: dict[str, int] = {}
        self._class, self._probability = array("H"), array("H")
        self._flags, self._fit = array("B"), array("B")
        self._starts, self._rows = [0], array("q")
        self._texts: list[bytes] = []
        self._words: list[bytes] = []
        self._size = 0

    def add(self, entry: Entry) -> None:
        """Add a text."""
        self._class.append(self._code(entry.prediction))
        self._probability.append(_scaled(entry.probability, _NONE_16))
        self._fit.append(_scaled(entry.r2, _NONE_8))
        self._flags.append(entry.flags)
        if not self._texts:
            self._rows.append(entry.row)
        self._texts.append(msgspec.json.encode(_text(entry)))
        self._words.append(msgspec.json.encode(_words(entry.shading)))
        self._size += len(self._texts[-1]) + len(self._words[-1])
        if len(self._texts) == TEXTS_PER_SLICE or self._size >= BYTES_PER_SLICE:
            self._flush()

    def close(self) -> None:
        """Write the last slice and the index."""
        if self._texts:
            self._flush()
        index = {
            "starts": self._starts,
            "rows": self._rows.tolist(),
            "classes": [isolated(name) for name in self._classes],
            "kept": self._kept,
            "class": _base64(self._class),
            "probability": _base64(self._probability),
            "fit": _base64(self._fit),
            "flags": _base64(self._flags),
        }
        (self._folder / _INDEX).write_bytes(script("mase.index", index))

    def _code(self, prediction: str | None) -> int:
        if prediction is None or (prediction not in self._classes and len(self._classes) == MOST_CLASSES):
            return _NONE_16
        return self._classes.setdefault(prediction, len(self._classes))

    def _flush(self) -> None:
        number = len(self._starts) - 1
        for kind, values in (("texts", self._texts), ("words", self._words)):
            content = msgspec.Raw(b"[" + b",\n".join(values) + b"]")
            (self._folder / f"{kind}-{number:05}.js").write_bytes(script(f"mase.{kind}", number, content))
        self._starts.append(self._starts[-1] + len(self._texts))
        self._texts, self._words, self._size = [], [], 0


def _text(entry: Entry) -> dict[str, Any]:
    """Return an entry without its words as JSON types. Names from outside are values, and never keys.

    Numbers are as the page shows them. Those of the index, which orders the texts, have few digits.
    """
    return {
        "row": entry.row,
        "id": entry.id,
        "prediction": entry.prediction,
        "label": entry.label,
        "response": entry.response,
        "against": entry.against,
        "link": entry.link,
        "chance": None if entry.probability is None else percent(entry.probability),
        "r2": None if entry.r2 is None else share(entry.r2),
        "halves": None if entry.split_half is None else share(entry.split_half),
        "queries": entry.n_queries,
        "text": entry.text,
        "size": entry.n_characters,
        "given": "" if entry.given == entry.text else entry.given,  # "" for the same, so that it is there once
        "unsigned": entry.unsigned,
        "notes": entry.notes,
        "error": entry.error,
        "message": entry.message,
        "kept": entry.kept,
        "answer": entry.answer,
    }


def _words(result: Shading) -> dict[str, Any]:
    return {"words": result.packed(), "unit": result.unit, "decimals": result.decimals, "signs": result.signs}


def _scaled(share: float | None, none: int) -> int:
    """Return a share of 0 to 1 as an integer below `none`, which stands for no number."""
    return none if share is None else round(min(1.0, max(0.0, share)) * (none - 1))


def _base64(values: "array[int]") -> str:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return b64encode(values.tobytes()).decode()


_LONGEST_SETTING = 200


@dataclass(frozen=True, slots=True)
class Workbench:
    """The workbench in which the texts of a run can be explained again and changed.

    Attributes
    ----------
    address
        Address of its page.
    settings
        What all texts of the run share, as the page reads it from its fragment: model, method and settings.
    """

    address: str
    settings: str

    @classmethod
    def of(cls, address: str, run: Run) -> Self:
        """Return the workbench at an address, with the settings of a run."""
        asked = run.manifest.asked
        result = dict(_settings(asked.model, asked.method)) | {"seed": asked.seed}
        return cls(address, urlencode(result, quote_via=quote))

    @property
    def link(self) -> str:
        """The link without a text, to which `&target=`, `&against=` and `&text=` can be added."""
        return f"{self.address}#{self.settings}"

    def href(self, entry: Entry) -> str:
        """Return the link of a text; "" if it is not known as the model got it."""
        if not entry.given:
            return ""
        classes = {"target": entry.response, "against": entry.against}
        result = {name: label for name, label in classes.items() if label is not None}
        return f"{self.link}&{urlencode(result | {'text': entry.given}, quote_via=quote)}"


def _specified(method: Mapping[str, Any]) -> str | None:
    """Return the name of a method with its parts and numbers that are not the usual ones, as `mase.methods.parse`."""
    name = method.get("name")
    if not isinstance(name, str) or name not in METHODS:
        return name if isinstance(name, str) else None
    usual, others = describe(METHODS[name]), {}
    for part in ("space", "design", "estimator", "sigma", "center"):
        value, expected = (item.get(part) for item in (method, usual))
        if isinstance(value, Mapping) and isinstance(expected, Mapping):
            value, expected = value.get("name"), expected["name"]
        if isinstance(value, str | int | float) and value != expected:
            others[part] = value
    return str(Configuration(name, tuple(sorted(others.items()))))


def _settings(model: Mapping[str, Any], method: Mapping[str, Any]) -> Iterator[tuple[str, str | int]]:
    """Yield the settings of a run that have names in the workbench; anybody may have made the run."""
    space = method.get("space")
    result = {
        "model": model.get("name"),
        "method": _specified(method),
        "units": method.get("units"),
        "n_samples": method.get("n_samples"),
        "reference": space.get("reference") if isinstance(space, Mapping) else None,
        "link": method.get("link"),
        "long": method.get("long"),
    }
    for name, value in result.items():
        if isinstance(value, str | int) and len(str(value)) <= _LONGEST_SETTING:
            yield name, value
