"""The parts of an answer with their sources, as all displays name and number them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from mase.attribution import Attribution, Field, Word
from mase.render.facts import explained, link_name
from mase.render.numbers import amount
from mase.render.palette import are_estimates, scale_of
from mase.render.pieces import inline, model_name

__all__ = [
    "CitedPart",
    "cited_parts",
    "origin_of_answer",
    "part_facts",
    "place",
    "source_numbers",
    "subject",
    "why_no_source",
]


# What a source does to a part.
_FALLS = {"logit": "its odds would be {} times lower", "log-probability": "it would be {} times less likely"}
_LEAST_FALL, _LARGEST_FALL = 0.4, 300.0  # about half as much again, and what a float holds
_EFFECTS = {"logit": "makes its odds ten times as high", "log-probability": "makes it ten times as probable"}


@dataclass(frozen=True, slots=True)
class CitedPart:
    """A part of an answer with its sources.

    Attributes
    ----------
    letter
        The name of the part, "a", "b", ...; empty if it is the only one.
    start, end
        Its span in the text of the answer.
    found
        The attribution with the response of the part first.
    sources
        Indices of the units that are its sources, strongest first.
    """

    letter: str
    start: int
    end: int
    found: Attribution
    sources: tuple[int, ...]


def cited_parts(attribution: Attribution) -> list[CitedPart]:
    """Return the parts of an answer in reading order, with their sources; nothing without an answer."""
    parts = () if attribution.answer is None else attribution.answer.parts
    both = sorted(zip(parts, attribution.citations, strict=True), key=lambda pair: pair[0].start)
    return [
        CitedPart(
            letter=_letter(index) if len(parts) > 1 else "",
            start=part.start,
            end=part.end,
            found=attribution.of(part.response),
            sources=tuple(citation.unit for citation in citations),
        )
        for index, (part, citations) in enumerate(both)
    ]


def source_numbers(parts: Sequence[CitedPart]) -> dict[int, int]:
    """Return the numbers 1, 2, ... of all units that are sources, by index, in the order in which they are cited."""
    units = dict.fromkeys(unit for part in parts for unit in part.sources)
    return {unit: number for number, unit in enumerate(units, 1)}


def part_facts(part: CitedPart) -> list[str]:
    """Return the explained number of a part, also as it is expected without the sources, its fit and its notes."""
    found, scale = part.found, scale_of(part.found)
    facts = [f"{link_name(found)} {scale.signed(found.response)}"]
    expected = found.expected_without(part.sources) if part.sources else None
    if expected is not None:
        without = "this source" if len(part.sources) == 1 else "these sources"
        fallen = found.response - expected  # a logarithm, of the answer's probability or odds
        if found.link in _FALLS and _LEAST_FALL < fallen < _LARGEST_FALL:
            facts += [f"without {without} {_FALLS[found.link].format(amount(float(f'{math.exp(fallen):.2g}')))}"]
        else:
            facts += [f"{scale.signed(expected)} expected without {without}"]
    return [
        *facts,
        *explained(found.responses[0]),
        *(inline(note.message) for note in found.notes if note.response == found.target),
    ]


def why_no_source(part: CitedPart) -> str:
    """Return why a part has no source, and what that means."""
    found = part.found
    if not (found.signed and are_estimates(found)):
        return "no source: the method says neither the direction nor the error of an effect"
    effect = _EFFECTS.get(found.link, "raises it")
    return (
        f"no source: no {found.noun} alone {effect} beyond the sampling error, so it may come from several together, "
        "from what the model knows, or from text that is never left out"
    )


def texts_of(attribution: Attribution) -> list[Field]:
    """Return the fields of the document that are no answer, and not empty."""
    answer = attribution.answer.text if attribution.answer else ""
    return [field for field in attribution.document if field.text and not (field.fixed and field.text == answer)]


def place(attribution: Attribution, word: Word) -> str:
    """Return the name of the field that holds a unit, in one line; empty if there is only one text to cite."""
    free = [field for field in attribution.document if not field.fixed]
    return inline(word.field) if len(free) > 1 else ""


def subject(attribution: Attribution, parts: Sequence[CitedPart]) -> str:
    """Return what the first response explains: the answer as a whole, or a part of it."""
    part = next((part.letter for part in parts if part.letter and part.found.target == attribution.target), "")
    if part:
        return f"part {part}"
    answer = "the whole answer" if len(parts) > 1 else "the answer"
    return answer if attribution.responses[0].against is None else f"{answer} rather than the other one"


def origin_of_answer(attribution: Attribution) -> str:
    """Return who gave the answer."""
    name = model_name(attribution.model.get("name"))
    generated = attribution.answer is not None and attribution.answer.generated
    return f"generated by {name}" if generated else f"given, and scored by {name}"


def _letter(index: int) -> str:
    """Return "a" to "z", then "aa", "ab", ..."""
    before, last = divmod(index, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]
