"""Stream the texts of a run, each with its prediction, its shaded words, its notes or its error."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mase import characters
from mase.corpus.documents import fields_of
from mase.corpus.opened import Run
from mase.datasets.labelled import spellings
from mase.models.language.given import ANSWER
from mase.render.pieces import inline, visible
from mase.report.answers import CitedAnswer
from mase.report.shading import Shading, shading
from mase.report.units import Units, Words
from mase.target import label_index

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CARE", "FAILED", "LOW_CONFIDENCE", "NOTED", "UNSIGNED", "WRONG", "Entry", "Flags", "entries", "shortened"]

# What a text can be filtered by.
FAILED, WRONG, LOW_CONFIDENCE, NOTED, CARE = 1, 2, 4, 8, 16
# The code of the note on scores without a direction.
UNSIGNED = "unsigned"
# A report shows this many characters of a text.
_LONGEST = 20_000
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
        found = (label_index(classes, name) for name in spellings(written or ""))
        return next((classes[index] for index in found if index is not None), None)


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
    response = next((found for found in responses if found["response"] == text["prediction"]), None)
    response = response or next(iter(responses), {})
    given, answer = fields_of(text["document"], text["row"]), text["explained_answer"]
    fields = [field for field in given if answer is None or field[0] != ANSWER]  # the answer is shown by itself
    content = "\n".join(field for _, field in fields)
    scored = units.of_text(text["row"], response.get("response"), fields)
    are_whole = all(name == _shortened(name) for name in (response.get("response"), response.get("against")))
    notes = tuple(
        (shortened(note["code"] or ""), shortened(note["message"] or "", _LONGEST_MESSAGE))
        for note in (text["notes"] or ())[:_MOST_NOTES]
    )
    shown, words = _shown(content[:_LONGEST], scored, signs=all(code != UNSIGNED for code, _ in notes))
    return Entry(
        row=text["row"],
        id=shortened(text["id"] or ""),
        flags=flags.of(text, classes) | CARE * (response.get("reliable") is False),
        label=_shortened(flags.label(text, classes)),
        prediction=_shortened(text["prediction"]),
        probability=_finite(text["probability"]),
        response=_shortened(response.get("response")),
        against=_shortened(response.get("against")),
        link=_shortened(response.get("link")),
        r2=_finite(response.get("r2")),
        split_half=_finite(text["split_half"]),
        n_queries=text["n_queries"],
        text=shown,
        n_characters=len(content),
        given=content if len(given) == 1 and len(content) <= _LONGEST and are_whole else None,
        shading=words,
        unsigned=bool(np.isnan(scored[-1]).all()) or not words.signs,
        notes=notes,
        error=_shortened(text["error"]),
        message=_shortened(text["message"], _LONGEST_MESSAGE),
        kept=tuple(_shortened(text[name], _LONGEST_VALUE) for name in kept),
        answer=None
        if answer is None
        else CitedAnswer.of(
            answer, units.sources(text["row"], fields), words.scale, named=units.n_fields(text["row"]) > 1
        ),
    )


def shortened(text: str, longest: int = 100) -> str:
    """Return a name or a message from outside on one line, without control characters, and cut."""
    return inline(characters.shortened(text, longest))


def _shortened(text: str | None, longest: int = 100) -> str | None:
    return None if text is None else shortened(text, longest)


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _shown(text: str, words: Words, *, signs: bool) -> tuple[str, Shading]:
    """Return a text without control characters, and its words.

    A control character is shown as several characters, which moves the words after it.
    """
    found = shading(text, *words, signs=signs)
    shown = visible(text)
    if shown == text:
        return text, found
    starts, lengths = found.words[:, 0], found.words[:, 1]
    cuts = [0, *np.stack([starts, starts + lengths], axis=1).ravel().tolist(), len(text)]
    parts = [visible(text[start:end]) for start, end in pairwise(cuts)]
    places = np.array([0, *accumulate(map(len, parts))], dtype=np.int64)
    found.words[:, 0] = places[1:-1:2]
    found.words[:, 1] = places[2::2] - places[1:-1:2]
    return "".join(parts), found


def _responses(table: "pa.Table") -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for response in table.select(["row", "response", "against", "link", "r2", "reliable"]).to_pylist():
        found.setdefault(response["row"], []).append(response)
    return found
