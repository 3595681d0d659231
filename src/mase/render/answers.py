"""Answers of language models with their sources.

Every part of the answer is followed by the numbers of its sources, which are links. Before a source stand its number
and the letters of the parts that it supports, which lead back. The sources are shaded for the whole answer, and for one
part as long as it is pointed at, has the focus or is the target of the address. The style sheet does that.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from string import ascii_lowercase

from markupsafe import Markup

from mase.attribution.attribution import Attribution, Word
from mase.document import Field
from mase.render.marks import (
    Piece,
    are_estimates,
    bars,
    inline,
    is_unsigned,
    model_name,
    pieces_of_field,
    scale_of,
    shades,
    shortened_to_width,
    strongest,
    visible,
)
from mase.render.wording import amount, counted, explained, link_name
from mase.text import boundary

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
    result, scale = part.found, scale_of(part.found)
    facts = [f"{link_name(result)} {scale.signed(result.response)}"]
    expected = result.expected_without(part.sources) if part.sources else None
    if expected is not None:
        without = "this source" if len(part.sources) == 1 else "these sources"
        fallen = result.response - expected  # a logarithm, of the answer's probability or odds
        if result.link in _FALLS and _LEAST_FALL < fallen < _LARGEST_FALL:
            facts += [f"without {without} {_FALLS[result.link].format(amount(float(f'{math.exp(fallen):.2g}')))}"]
        else:
            facts += [f"{scale.signed(expected)} expected without {without}"]
    return [
        *facts,
        *explained(result.responses[0]),
        *(inline(note.message) for note in result.notes if note.response == result.target),
    ]


def why_no_source(part: CitedPart) -> str:
    """Return why a part has no source, and what that means."""
    result = part.found
    if not (result.signed and are_estimates(result)):
        return "no source: the method says neither the direction nor the error of an effect"
    effect = _EFFECTS.get(result.link, "raises it")
    return (
        f"no source: no {result.noun} alone {effect} beyond the sampling error, so it may come from several together, "
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


# If there are more texts, those without a source are folded. So are long texts that are never left out.
_MANY_TEXTS, _LONG_FIXED = 8, 400
_EXCERPT, _BEGINNING = 110, 70
_LISTED = 5


@dataclass(frozen=True, slots=True)
class _Entry:
    """A unit in a list: its number if it is a source, its score, and where the link leads."""

    number: int | None
    anchor: str
    place: str
    excerpt: str
    score: str
    bar: Markup


@dataclass(frozen=True, slots=True)
class _PartView:
    """A part in the list of parts, with its sources, or why it has none; `index` counts from 1."""

    index: int
    letter: str
    anchor: str
    beginning: str
    facts: Sequence[str]
    why_none: str
    entries: Sequence[_Entry]


@dataclass(frozen=True, slots=True)
class _TextView:
    """A field of the document; a `folded` one is closed at first."""

    name: str
    text: Markup
    beginning: str
    folded: bool


@dataclass(frozen=True, slots=True)
class _Group:
    """Texts in a row that are all open, or folded below a summary: a name, and the beginning of the text or more."""

    texts: Sequence[_TextView]
    folded: bool

    @property
    def name(self) -> str:
        """The name of the only text, or the number of texts."""
        return self.texts[0].name if len(self.texts) == 1 else counted(len(self.texts), "text")

    @property
    def more(self) -> str:
        """The beginning of the only text, or the names of the first and the last one."""
        return self.texts[0].beginning if len(self.texts) == 1 else f"{self.texts[0].name} … {self.texts[-1].name}"


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer, its parts with their sources, and the texts that hold these.

    Attributes
    ----------
    origin
        Who gave the answer.
    subject
        What the scores of the first response explain.
    against
        The answer that it is compared with; empty if there is none.
    text
        The answer with the numbers of its sources.
    fixed, sources
        The texts that are never left out, and the others.
    parts
        The parts of the answer with their sources.
    whole
        The strongest units for the whole answer.
    """

    origin: str
    subject: str
    against: str
    text: Markup
    fixed: Sequence[_Group]
    sources: Sequence[_Group]
    parts: Sequence[_PartView]
    whole: Sequence[_Entry]

    @property
    def n_chosen(self) -> int:
        """Number of parts that can be chosen: none if there is but one."""
        return len(self.parts) if len(self.parts) > 1 else 0


def answer_view(
    attribution: Attribution, *, number: int, longest_unread: int, attributes: Callable[[Piece], Markup]
) -> AnswerView:
    """Return the answer of an attribution as its template shows it.

    Parameters
    ----------
    attribution
        An attribution with an answer.
    number
        Number of the text on a page of several, 0 on a page of one. Links need it.
    longest_unread
        Number of characters of text that the model did not read that is shown.
    attributes
        Returns further attributes of the element of a unit.
    """
    parts = cited_parts(attribution)
    prefix = f"{_digest(attribution)}-{number}" if number else _digest(attribution)
    listed = [attribution.word_scores.index(word) for word in strongest(attribution, _LISTED)]
    given = _Given(attribution, parts, source_numbers(parts), prefix)
    shaded = shades([attribution, *(part.found for part in parts if part.letter)])

    def unit(piece: Piece) -> Markup:
        return Markup("") if piece.unit is None else shaded[piece.unit] + attributes(piece)

    texts = [
        (field.fixed, _text(given, field, pieces_of_field(attribution, field, longest_unread=longest_unread), unit))
        for field in texts_of(attribution)
    ]
    other = attribution.responses[0].against
    return AnswerView(
        origin=origin_of_answer(attribution),
        subject=subject(attribution, parts),
        against="" if other is None else visible(other),
        text=_answer(given),
        fixed=[_Group([text], text.folded) for fixed, text in texts if fixed],
        sources=[
            _Group(list(several), folded)
            for folded, several in groupby((text for fixed, text in texts if not fixed), lambda text: text.folded)
        ],
        parts=[_part(given, index, part) for index, part in enumerate(parts, 1)],
        whole=_entries(given, attribution, listed, given.unit),
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """What the pieces of one answer share: its parts, the numbers of its sources, and the beginning of all names."""

    attribution: Attribution
    parts: Sequence[CitedPart]
    numbers: Mapping[int, int]
    prefix: str

    def part(self, part: CitedPart) -> str:
        """Return the name of a part in the answer."""
        return f"{self.prefix}-{part.letter or 'a'}"

    def source(self, part: CitedPart, unit: int) -> str:
        """Return the name of the link from a source back to a part."""
        return f"{self.part(part)}{self.numbers[unit]}"

    def unit(self, unit: int) -> str:
        """Return the name of a source by itself."""
        return f"{self.prefix}-{unit}"


def _answer(given: _Given) -> Markup:
    """Return the answer, each part with its letter and the numbers of its sources."""
    text = given.attribution.answer.text if given.attribution.answer else ""
    written, at = Markup(""), 0
    for index, part in enumerate(given.parts, 1):
        start, end = max(at, part.start), max(at, part.end)
        name = given.part(part)
        letter = Markup('<sup dir=ltr><a href=#{} title="Shade the sources of this part">{}</a></sup>').format(
            name, part.letter
        )
        cited = Markup("").join(_citation(given, part, unit) for unit in part.sources)
        none = Markup('<sup dir=ltr class=unsourced title="{}">no source</sup>').format(why_no_source(part))
        written += Markup('{}<span id={} class="part p{}">{}{}{}</span>').format(
            visible(text[at:start]), name, index, letter if part.letter else "", visible(text[start:end]), cited or none
        )
        at = end
    return written + visible(text[at:])


def _citation(given: _Given, part: CitedPart, unit: int) -> Markup:
    """Return the number of a source as a link to it."""
    word, number = part.found.word_scores[unit], given.numbers[unit]
    score = " ".join([*filter(None, [place(given.attribution, word)]), scale_of(part.found).interval(word)])
    link = '<sup dir=ltr><a href=#{} title="{}" aria-label="[{}] {}">[{}]</a></sup>'
    return Markup(link).format(given.source(part, unit), score, number, score, number)


def _text(given: _Given, field: Field, pieces: Sequence[Piece], attributes: Callable[[Piece], Markup]) -> _TextView:
    a = given.attribution
    many = sum(not item.fixed for item in a.document) > _MANY_TEXTS
    cited = any(a.units[unit].field == field.name for unit in given.numbers)
    return _TextView(
        name=inline(field.name),
        text=Markup("").join(_piece(given, piece, attributes(piece)) for piece in pieces),
        beginning=_excerpt(field.text, _BEGINNING),
        folded=len(field.text) > _LONG_FIXED if field.fixed else many and not cited,
    )


def _piece(given: _Given, piece: Piece, attributes: Markup) -> Markup:
    if piece.unit is None:
        return Markup("<s>{}</s>").format(piece.text) if piece.unread else Markup.escape(piece.text)
    name = Markup(" id={}").format(given.unit(piece.unit)) if piece.unit in given.numbers else ""
    return _back(given, piece.unit) + Markup("<span class=u{}{}>{}</span>").format(name, attributes, piece.text)


def _back(given: _Given, unit: int) -> Markup:
    """Return the number of a source with links to the parts that it supports; nothing for another unit."""
    if unit not in given.numbers:
        return Markup("")
    links = Markup("").join(
        Markup(
            ' <a id={} class="part p{}" href=#{} title="{}" aria-label="{}, back to the answer, score {}">{}</a>'
        ).format(given.source(part, unit), index, given.part(part), score, letter, score, letter)
        for index, part in enumerate(given.parts, 1)
        if unit in part.sources
        for letter in [part.letter or "↑"]
        for score in [scale_of(part.found).interval(part.found.word_scores[unit])]
    )
    return Markup("<sup dir=ltr class=back>[{}]{}</sup>").format(given.numbers[unit], links)


def _part(given: _Given, index: int, part: CitedPart) -> _PartView:
    text = given.attribution.answer.text[part.start : part.end] if given.attribution.answer else ""
    return _PartView(
        index=index,
        letter=part.letter,
        anchor=given.part(part),
        beginning=_excerpt(text, _BEGINNING),
        facts=part_facts(part),
        why_none="" if part.sources else why_no_source(part),
        entries=_entries(given, part.found, part.sources, lambda unit: given.source(part, unit)),
    )


def _entries(
    given: _Given, attribution: Attribution, units: Sequence[int], anchor: Callable[[int], str]
) -> list[_Entry]:
    words = [attribution.word_scores[unit] for unit in units]
    scale, drawn = scale_of(attribution), bars(words, signed=not is_unsigned(attribution))
    return [
        _Entry(
            given.numbers.get(unit), anchor(unit), place(attribution, word), _excerpt(word.text, _EXCERPT),
            scale.interval(word), bar,
        )
        for unit, word, bar in zip(units, words, drawn, strict=True)
    ]  # fmt: skip


def _excerpt(text: str, longest: int) -> str:
    return shortened_to_width(" ".join(visible(text[: boundary(text, 2 * longest)]).split()), longest)


def _digest(attribution: Attribution) -> str:
    """Return a name by which the links of this answer differ from those of others on the same page of a notebook."""
    told = repr((attribution.document, attribution.answer, attribution.responses, attribution.model.get("name")))
    return f"a{sha256(told.encode('utf-8', 'backslashreplace')).hexdigest()[:7]}"
