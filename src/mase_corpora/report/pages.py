"""The page of a report and its sections."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import floor, log10
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from mase.render.html import checksum, resource, templates
from mase.render.marks import FAINT_SHADES, SHADES, Scale, isolated, model_name, visible
from mase.render.wording import at_least, counted, legend, meaning_of_link, percent, percent_of_all, share
from mase.render.wording import share as two_decimals
from mase.text import boundary
from mase_corpora.effects import Direction, Example, GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase_corpora.report.texts import (
    CARE,
    FAILED,
    LOW_CONFIDENCE,
    NOTED,
    WRONG,
    CitedAnswer,
    Entry,
    Workbench,
    one_line,
)
from mase_corpora.summary import Distribution, Summary

_MOST_DECIMALS, _LONGEST_QUERY = 4, 100


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a summary a page shows: rows per list, examples per row, and lists per section."""

    rows: int
    examples: int
    lists: int


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """An occurrence in context, and the text that it is in."""

    before: str
    text: str
    after: str
    score: str
    id: str
    href: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a row under its heading."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A word or phrase: its effect as a bar with a whisker and as a number, further numbers, and examples.

    `bar` and `whisker` are paths in a drawing of 100 by 12.
    """

    word: str
    href: str
    side: str
    bar: str
    whisker: str
    cells: tuple[Cell, ...]
    examples: tuple[ExampleRow, ...]


@dataclass(frozen=True, slots=True)
class RowList:
    """A list of rows; `n_cut` of the summary's rows are not shown, and `empty` says why there is none."""

    title: str
    rows: tuple[Row, ...]
    n_cut: int
    empty: str


@dataclass(frozen=True, slots=True)
class Line:
    """What a row of any table of the summary says: a word or phrase, a number with its interval, and further cells."""

    word: str
    value: float
    low: float
    high: float
    cells: tuple[Cell, ...]
    examples: tuple[Example, ...]


def scale_of_list(values: Iterable[float]) -> Scale:
    """Return the scale of the numbers of a list: three digits of the largest, and none above 0.0001 looks like 0."""
    sizes = [abs(value) for value in values if value]
    scale = Scale.of(max(sizes, default=0.0))
    if scale.decimals is None:
        return scale
    wanted = min(_MOST_DECIMALS, -floor(log10(min(sizes, default=1.0))))
    return replace(scale, decimals=max(scale.decimals, wanted))


def word_line(effect: WordEffect, scale: Scale) -> Line:
    """Return a word with its effect, number of texts, and share of texts in which it is among the five strongest."""
    cells = (
        Cell("effect", _interval(effect.effect, effect.low, effect.high, scale)),
        Cell("texts", f"{effect.n_texts:,}"),
        Cell("in top 5", whole_percent(effect.share_top)),
    )
    return Line(effect.word, effect.effect, effect.low, effect.high, cells, effect.examples)


def phrase_line(effect: PhraseEffect, scale: Scale) -> Line:
    """Return a phrase with its effect and the effect that its words lead to expect."""
    cells = (
        Cell("effect", _interval(effect.effect, effect.low, effect.high, scale)),
        Cell("expected", scale.signed(effect.expected)),
        Cell("texts", f"{effect.n_texts:,}"),
        Cell("in top 5", whole_percent(effect.share_top)),
    )
    return Line(effect.phrase, effect.effect, effect.low, effect.high, cells, effect.examples)


def push_line(difference: PushDifference, scale: Scale) -> Line:
    """Return a word with the difference of its push between some predictions of a class and the others."""
    cells = (
        Cell("difference", _interval(difference.difference, difference.low, difference.high, scale)),
        Cell("texts", f"{difference.n_texts:,}"),
        Cell("in these", whole_percent(difference.share)),
        Cell("in others", whole_percent(difference.share_others)),
    )
    return Line(difference.word, difference.difference, difference.low, difference.high, cells, difference.examples)


def group_line(difference: GroupDifference, scale: Scale) -> Line:
    """Return a word with the difference of its effect between one group and the others."""
    cells = (
        Cell("difference", _interval(difference.difference, difference.low, difference.high, scale)),
        Cell("here", scale.signed(difference.effect)),
        Cell("elsewhere", scale.signed(difference.effect_others)),
        Cell("texts", f"{difference.n_texts:,}"),
    )
    return Line(difference.word, difference.difference, difference.low, difference.high, cells, difference.examples)


def row_list(
    title: str, lines: Sequence[Line], scale: Scale, limits: Limits, *, within: float = 0.0, empty: str = ""
) -> RowList:
    """Return a list of rows whose bars have one scale; lists with the same `within` have the same one."""
    bars = _Bars.around(lines, within)
    rows = tuple(_row(line, bars, scale, limits) for line in lines[: limits.rows])
    return RowList(title, rows, len(lines) - len(rows), empty)


def room(lines: Iterable[Line]) -> float:
    """Return the distance from end to end of the bars of some lines and their whiskers."""
    values = [0.0, *(value for line in lines for value in (line.value, line.low, line.high))]
    return max(values) - min(values)


def whole_percent(value: float) -> str:
    """Return a share in whole percent, never rounded to 0 or 100.

    Examples
    --------
    >>> whole_percent(0.456), whole_percent(0.001), whole_percent(0.999), whole_percent(1)
    ('46 %', '< 1 %', '> 99 %', '100 %')
    """
    if 0 < value < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= value < 1 else f"{100 * value:.0f} %"


@dataclass(frozen=True, slots=True)
class _Bars:
    """Where numbers stand in the drawings of a list: 0 at `origin`, and the widest whisker within 1 to 99."""

    origin: float
    width: float

    @classmethod
    def around(cls, lines: Sequence[Line], within: float) -> "_Bars":
        spread = max(within, room(lines)) or 1.0
        lowest = min([0.0, *(min(line.value, line.low) for line in lines)])
        return cls(1 - 98 * lowest / spread, 98 / spread)

    def of(self, value: float, low: float, high: float) -> tuple[str, str]:
        """Return the paths of a bar and its whisker, which has ends high enough to see."""
        end, first, last = (self.origin + self.width * number for number in (value, low, high))
        bar = f"M{self.origin:.1f} 2H{end:.1f}v8H{self.origin:.1f}z"
        return bar, f"M{first:.1f} 3v6m0 -3H{last:.1f}m0 -3v6"


def _row(line: Line, bars: _Bars, scale: Scale, limits: Limits) -> Row:
    bar, whisker = bars.of(line.value, line.low, line.high)
    return Row(
        word=one_line(line.word),
        href="#texts?q=" + quote(_query(line.word)),
        side="n" if line.value < 0 else "p",
        bar=bar,
        whisker=whisker,
        cells=line.cells,
        examples=tuple(_example(example, scale) for example in line.examples[: limits.examples]),
    )


def _query(word: str) -> str:
    """Return what finds a word in the list of texts, which has it without control characters; a long one is cut."""
    shown = visible(word)
    return f'"{shown}"' if len(shown) <= _LONGEST_QUERY else shown[: boundary(shown, _LONGEST_QUERY)]


def _example(example: Example, scale: Scale) -> ExampleRow:
    return ExampleRow(
        before=("…" if example.cut_before else "") + one_line(example.before),
        text=one_line(example.text),
        after=one_line(example.after) + ("…" if example.cut_after else ""),
        score=scale.signed(example.score),
        id=one_line(example.id),
        href=f"#texts?row={example.row}",
    )


def _interval(value: float, low: float, high: float, scale: Scale) -> str:
    return f"{scale.signed(value)} ± {scale.error((high - low) / 2)}"


_MEASURES = {
    "r2": "R², the share of the variance of the explained number that the scores account for",
    "r2_held_out": "Held-out R², the same share in rows that the fit left out",
    "split_half": "Split-half agreement on the strongest words",
    "probability": "Probability of the predicted class",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of the overview, and the part of the page that it leads to ("" if none)."""

    name: str
    value: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a measure over the texts, as numbers and as a drawing of 100 by 12."""

    name: str
    n: str
    numbers: tuple[str, ...]
    line: str
    box: str
    middle: str


@dataclass(frozen=True, slots=True)
class ClassSection:
    """What speaks for and against one class."""

    anchor: str
    name: str
    predicted: str
    lists: tuple[RowList, ...]


def verdict(summary: Summary) -> list[str]:
    """Return sentences that say what was explained, and how far the scores can be trusted."""
    overview, n_texts = summary.overview, len(summary.run)
    said = f"{overview.n_explained:,} of {counted(n_texts, 'text')} explained"
    said += f", {overview.n_failed:,} failed" if overview.n_failed else ""
    missing = n_texts - overview.n_texts
    said += f", {missing:,} not yet computed (the run is not finished)" if missing > 0 else ""
    sentences = [f"{said}."]
    if overview.accuracy is not None:
        sentences.append(
            f"{percent_of_all(overview.accuracy)} of {overview.n_labelled:,} labelled texts are predicted right."
        )
    if overview.n_other_labels:
        sentences.append(
            f"{counted(overview.n_other_labels, 'text')} with a label that is no class of the model "
            f"{'is' if overview.n_other_labels == 1 else 'are'} not judged."
        )
    fit = next((result for result in summary.quality if result.name == "r2"), None)
    if fit is not None:
        least = at_least(fit.q10)
        explained = f"{100 * max(0.0, least):.0f} %"
        among = "texts" if fit.n == overview.n_explained else f"of {counted(fit.n, 'explanation')} that have an R²"
        sentences.append(
            f"In nine of ten {among} the scores account for at least {explained} of the variance of the explained "
            f"number (R² ≥ {least:.2f}, median {two_decimals(fit.median)})."
        )
    noted = sum(note.n_texts for note in summary.notes)
    if noted:
        worst = summary.notes[0]
        sentences.append(f"The most frequent note is “{one_line(worst.code)}”, on {counted(worst.n_texts, 'text')}.")
    return sentences


def facts(summary: Summary, *, texts: bool) -> list[Fact]:
    """Return the numbers of the overview; those of texts lead to the list if there is one."""
    overview = summary.overview

    def link(query: str) -> str:
        return f"#texts?{query}" if texts else ""

    result = [Fact("texts", f"{overview.n_texts:,}", link("sort=order"))]
    result += [Fact("failed", f"{overview.n_failed:,}", link("only=failed") if overview.n_failed else "")]
    if overview.accuracy is not None:
        result.append(Fact("predicted right", percent_of_all(overview.accuracy)))
        wrong = round((1 - overview.accuracy) * overview.n_labelled)
        result.append(Fact("predicted wrong", f"{wrong:,}", link("only=wrong") if wrong else ""))
    threshold = summary.settings.low_confidence
    if threshold is not None:
        result.append(Fact("low confidence", f"below {percent(threshold)}", link("only=low")))
    if overview.reliable is not None:
        care = percent_of_all(1 - overview.reliable)
        result.append(Fact("read with care", care, link("only=care") if overview.reliable < 1 else ""))
    return [*result, Fact("the model was asked", f"{overview.n_queries:,} times")]


def spreads(quality: Sequence[Distribution]) -> list[Spread]:
    """Return the distributions of the measures of quality, drawn from 0 to 1."""
    return [_spread(result) for result in quality]


def _spread(distribution: Distribution) -> Spread:
    quantiles = [getattr(distribution, name) for name in ("minimum", "q10", "q25", "median", "q75", "q90", "maximum")]
    low, q10, q25, median, q75, q90, high = (100 * min(1.0, max(0.0, value)) for value in quantiles)
    return Spread(
        name=_MEASURES.get(distribution.name, distribution.name),
        n=f"{distribution.n:,}",
        numbers=tuple(map(two_decimals, quantiles[:-1])),
        line=f"M{low:.1f} 6H{high:.1f}M{q10:.1f} 3v6M{q90:.1f} 3v6",
        box=f"M{q25:.1f} 2H{q75:.1f}v8H{q25:.1f}z",
        middle=f"M{median:.1f} 1v10",
    )


def class_sections(summary: Summary, limits: Limits) -> list[ClassSection]:
    """Return the sections of the responses, those of the classes that are predicted most first."""
    words = _by(summary.words, lambda result: result.response)
    phrases = _by(summary.phrases, lambda result: result.response)
    predicted = {prediction.prediction: prediction for prediction in summary.predictions}
    names = list(dict.fromkeys([*(name for name in predicted if name in words), *words, *phrases, *predicted]))
    sections, none = [], none_found(summary)
    for number, name in enumerate(names[: limits.lists], 1):
        effects = [*words.get(name, []), *phrases.get(name, [])]
        scale = scale_of_list(effect.effect for effect in effects)
        said = "never predicted"
        if name in predicted:
            result = predicted[name]
            texts, of_all = counted(result.n_texts, "text"), f"({whole_percent(result.share)})"
            said = f"{texts} {of_all}"
            if result.probability is not None:
                said = f"{texts} predicted {of_all}, mean probability {percent(result.probability)}"
        tables = {
            "words": _by_side(words.get(name, []), scale),
            "phrases": _by_side(phrases.get(name, []), scale),
        }
        within = max(room(lines) for sides in tables.values() for lines in sides.values())
        lists = tuple(
            shown
            for table, sides in tables.items()
            for shown in _sides(sides, table, scale, limits, within, none[table])
        )
        sections.append(ClassSection(f"class-{number}", one_line(name), said, lists))
    return sections


def none_found(summary: Summary) -> dict[str, str]:
    """Return for each table what to say if it has no row: that nothing passes the test, or that nothing was tested."""
    least, n_tested = summary.settings.min_texts, {family.table: family.n_tested for family in summary.families}
    return {
        table: f"No {noun} passes the test." if n_tested.get(table) else f"No {noun} occurs in {least:,} {where}."
        for table, (noun, where) in _TESTED_IN.items()
    }


# By table: what is tested, and in which texts it has to occur.
_TESTED_IN = {
    "words": ("word", "texts"),
    "phrases": ("phrase", "texts"),
    "wrong": ("word", "wrong predictions of one class"),
    "low_confidence": ("word", "predictions of one class with a low confidence"),
    "groups": ("word", "texts of a group and as many others"),
}

_SIDES: dict[Direction, str] = {"towards": "towards", "away": "away from"}


def _sides(
    lines: Mapping[Direction, Sequence[Line]], table: str, scale: Scale, limits: Limits, within: float, empty: str
) -> list[RowList]:
    return [
        row_list(f"{table.capitalize()} {side}", lines[direction], scale, limits, within=within, empty=empty)
        for direction, side in _SIDES.items()
    ]


def _by_side(effects: Sequence[WordEffect] | Sequence[PhraseEffect], scale: Scale) -> dict[Direction, list[Line]]:
    """Return the lines of effects towards a class and away from it."""
    sides: dict[Direction, list[Line]] = {direction: [] for direction in _SIDES}
    for effect in effects:
        sides[effect.direction].append(_effect_line(effect, scale))
    return sides


def _effect_line(effect: WordEffect | PhraseEffect, scale: Scale) -> Line:
    return word_line(effect, scale) if isinstance(effect, WordEffect) else phrase_line(effect, scale)


def difference_lists(summary: Summary, limits: Limits) -> dict[str, list[RowList]]:
    """Return the lists of words behind wrong and low-confidence predictions, and of those that differ by group."""

    def lists(
        difference: Sequence[Any], key: Callable[[Any], Any], title: str, line: Callable[[Any, Scale], Line]
    ) -> list[RowList]:
        result = []
        for names, rows in list(_by(difference, key).items())[: limits.lists]:
            scale = scale_of_list(row.difference for row in rows)
            lines = [line(row, scale) for row in rows]
            result.append(row_list(title.format(*map(one_line, names)), lines, scale, limits))
        return result

    def prediction(difference: PushDifference) -> tuple[str]:
        return (difference.prediction,)

    def group(difference: GroupDifference) -> tuple[str, str]:
        return difference.group, difference.response

    return {
        "wrong": lists(summary.wrong, prediction, "Predicted {}", push_line),
        "low_confidence": lists(summary.low_confidence, prediction, "Predicted {}", push_line),
        "groups": lists(summary.groups, group, "{}, towards {}", group_line),
    }


def rules(summary: Summary) -> list[str]:
    """Return sentences on how the words of the lists were chosen."""
    settings, overview = summary.settings, summary.overview
    tested = ", ".join(
        f"{family.n_found:,} of {family.n_tested:,} {family.table.replace('_', ' ')}"
        for family in summary.families
        if family.n_tested
    )
    return [
        "Words are merged by case: “Film” and “film” are one word. Common words are not left out.",
        f"A word is in a list if it occurs in at least {counted(settings.min_texts, 'text')} and its effect differs "
        "from 0 and from the mean of its texts. "
        f"At most {whole_percent(settings.false_discovery_rate)} of the rows of a table are there by chance "
        "(false discovery "
        f"rate). Found of tested: {tested or 'none were tested'}.",
        f"A repeated text counts once: {overview.n_distinct:,} of {counted(overview.n_explained, 'explained text')} "
        "differ from each other." if overview.n_distinct != overview.n_explained else "",
        "The effect of a word is its mean score over its occurrences in a text, then over the texts. Its 95 % interval "
        "is over texts: it says how sure the mean is, and not how much the texts differ.",
        "“In top 5” is the share of its texts in which the word has one of the five strongest scores in the direction.",
        "“Expected” is the effect that the two words of a phrase have together elsewhere.",
    ]  # fmt: skip


def _by(result: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    return {name: list(rows) for name, rows in groupby(result, key)}


# By which a folder is recognized as a report.
GENERATOR = "mase.report/1"
LARGEST_PAGE = 3_000_000

# These texts are shown without a script, too.
FIRST_TEXTS = 10
_PACKAGE = "mase_corpora.report"
_STYLES = (("mase.render", "style.css"), ("mase.render", "page.css"), (_PACKAGE, "report.css"))
_LONGEST_STATIC, _LONGEST_SNIPPET = 2_000, 200
_MOST_LINES = 50
_POLICY = re.compile('http-equiv=Content-Security-Policy content="([^"]+)"')

# From much to little, until the page is small enough.
_LIMITS = (
    Limits(rows=50, examples=3, lists=200),
    Limits(rows=25, examples=3, lists=200),
    Limits(rows=25, examples=1, lists=100),
    Limits(rows=10, examples=1, lists=100),
    Limits(rows=10, examples=0, lists=100),
    Limits(rows=5, examples=0, lists=100),
    Limits(rows=5, examples=0, lists=25),
)

_MARKS = frozenset({"for", "against", "insignificant for", "insignificant against"})

_BADGES = (
    (FAILED, "failed"),
    (WRONG, "wrong"),
    (LOW_CONFIDENCE, "low confidence"),
    (NOTED, "note"),
    (CARE, "read with care"),
)


def page(summary: Summary, first: Sequence[Entry], *, texts: bool, workbench: Workbench | None = None) -> str:
    """Return the page as HTML, of less than `LARGEST_PAGE` bytes.

    Parameters
    ----------
    summary
        The summary.
    first
        The first texts of the list.
    texts
        Whether there is a list of texts beside the page; else the page shows no text and no context of a word.
    workbench
        The workbench to which the texts lead, if a server shows the page.
    """
    shown = [_text(entry, workbench) for entry in first]
    for limits in _LIMITS:
        within = limits if texts else Limits(limits.rows, 0, limits.lists)
        content = _rendered(summary, shown, within, texts=texts, workbench=workbench)
        if len(content.encode()) < LARGEST_PAGE:
            break
    return content


def policy(content: str) -> str:
    """Return the security policy that a page states, for a server that states it as well."""
    match = _POLICY.search(content)
    assert match is not None
    return match[1]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of the list as its template shows it."""

    number: str
    id: str
    prediction: str
    probability: str
    badges: tuple[str, ...]
    snippet: str
    content: Markup
    plain: bool
    marks: frozenset[str]
    unit: str
    facts: str
    href: str
    warnings: tuple[str, ...]
    answer: CitedAnswer | None


def _rendered(
    summary: Summary, first: Sequence[_Text], limits: Limits, *, texts: bool, workbench: Workbench | None
) -> str:
    run, style = summary.run, "".join(resource(package, name) for package, name in _STYLES)
    asked = run.manifest.asked
    answers = any(view.answer is not None for view in first)
    probabilities = any(prediction.probability is not None for prediction in summary.predictions)
    explained = "answer" if answers else "class" if probabilities or not summary.predictions else "value"
    template = templates(_PACKAGE).get_template("report.html")
    content = template.render(
        generator=GENERATOR,
        nonce=_NONCE,
        style=Markup(style),
        style_hash=checksum(style),
        script=Markup(resource(_PACKAGE, "report.js")) if texts else "",
        title=f"{one_line(model_name(summary.overview.model))} on {counted(len(run), 'text')}",
        verdict=verdict(summary),
        facts=facts(summary, texts=texts),
        spreads=spreads(summary.quality),
        notes=_notes(summary),
        failures=_failures(summary),
        classes=class_sections(summary, limits),
        n_classes=len(summary.predictions),
        confusion=_confusion(summary),
        differences=difference_lists(summary, limits),
        none_found=none_found(summary),
        settings=summary.settings,
        probabilities=probabilities,
        group_column=one_line(summary.settings.group_column or ""),
        rules=[rule for rule in (*rules(summary), *dict.fromkeys(view.unit for view in first)) if rule],
        origin=list(_origin(summary)),
        texts=texts,
        documents=asked.documents,
        workbench=workbench,
        complete=summary.overview.n_texts == len(run),
        first=first,
        legend=legend(frozenset().union(*(view.marks for view in first)) or _MARKS, explained),
        answers=answers,
        no_answer=CitedAnswer("", ()),
    )
    # The nonce allows the script of the page, and the slices that it inserts. It cannot be foreseen by whoever wrote a
    # text, since it depends on the whole page.
    return content.replace(_NONCE, hashlib.sha256(content.encode()).hexdigest()[:32])


def _notes(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the table of notes."""
    return [(one_line(n.code), f"{n.n_texts:,}", one_line(n.message, 300)) for n in summary.notes[:_MOST_LINES]]


def _failures(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the table of failures."""
    return [
        (one_line(f.error), f"{f.n_texts:,}", one_line(f.id), one_line(f.message, 300))
        for f in summary.failures[:_MOST_LINES]
    ]


def _confusion(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the table of wrong predictions, the most frequent first."""
    wrong = [result for result in summary.confusion if result.label != result.prediction]
    return [
        (one_line(c.label), one_line(c.prediction), f"{c.n_texts:,}", percent_of_all(c.share))
        for c in sorted(wrong, key=lambda result: -result.n_texts)[:_MOST_LINES]
    ]


# Replaced in the finished page. Jinja escapes the quotation mark in everything else.
_NONCE = '"the nonce"'


def _origin(summary: Summary) -> Iterator[str]:
    asked, made_with = summary.run.manifest.asked, summary.run.manifest.made_with
    checksum_of_model = str(asked.model.get("sha256") or "")[:12]
    yield f"model {one_line(summary.overview.model)}" + (f" (sha256 {checksum_of_model})" if checksum_of_model else "")
    yield f"method {one_line(summary.overview.method)}"
    if summary.overview.against is not None:
        yield f"each class rather than {one_line(summary.overview.against)}"
    yield f"seed {asked.seed}"
    if "mase-xai" in made_with:
        yield f"mase {one_line(str(made_with['mase-xai']))}"
    if summary.run.manifest.created:
        yield f"run begun {one_line(summary.run.manifest.created)}"


def _text(entry: Entry, workbench: Workbench | None) -> _Text:
    result = [f"R² {share(entry.r2)}"] if entry.r2 is not None else []
    contrast = "" if entry.against is None else f" rather than {isolated(entry.against)}"
    result += [f"{entry.link} of {isolated(entry.response)}{contrast}"] if entry.response is not None else []
    cut = entry.n_characters > _LONGEST_STATIC
    return _Text(
        number=f"{entry.row + 1:,}",
        id=entry.id,
        prediction=_outcome(entry),
        probability="" if entry.probability is None else percent(entry.probability),
        badges=tuple(
            f"wrong, right is {isolated(entry.label or '')}" if flag == WRONG else name
            for flag, name in _BADGES
            if entry.flags & flag
        ),
        snippet=" ".join(entry.text[: boundary(entry.text, _LONGEST_SNIPPET)].split()),
        content=Markup("").join(_pieces(entry)),
        plain=entry.unsigned,
        marks=_marks(entry),
        unit=_unit(entry),
        facts=" · ".join(
            [*result, *([f"first {_LONGEST_STATIC:,} of {entry.n_characters:,} characters"] if cut else [])]
        ),
        href="" if workbench is None else workbench.href(entry),
        warnings=(
            *(message for _, message in entry.notes),
            *([f"{entry.error}: {entry.message}"] if entry.error is not None else []),
        ),
        answer=entry.answer,
    )


def _outcome(entry: Entry) -> str:
    """Return the predicted class of a text, or the beginning of the answer to a prompt; "" for a text that failed."""
    if entry.answer is not None:
        return one_line(entry.answer.text)
    return "" if entry.prediction is None else entry.prediction


def _marks(entry: Entry) -> frozenset[str]:
    """Return the names of the marks of the words of a text, as of all texts of the run; none if it has no words."""
    if not len(entry.shading.words):
        return frozenset()
    if not entry.unsigned:
        return _MARKS
    return frozenset({"arbitrary" if entry.shading.signs else "strong"})


def _unit(entry: Entry) -> str:
    """Return a sentence on the unit of the effects of a text; "" if it has none, no class, or is an answer."""
    if entry.link is None or entry.answer is not None or entry.unsigned or entry.probability is None:
        return ""
    told = meaning_of_link(entry.link, contrast=entry.against is not None)
    return f"Effects are changes of the explained number, the {told or entry.link}."


def _pieces(entry: Entry) -> Iterator[Markup]:
    """Yield the start of a text with its words shaded, as the page of single texts does."""
    at, scale, unit = 0, entry.shading.scale, entry.shading.unit
    letters = SHADES + FAINT_SHADES
    for start, length, score, error, shade in entry.shading.words.tolist():
        if start + length > _LONGEST_STATIC:
            break
        if not shade:
            continue
        hint = scale.signed(score * unit) + ("" if error < 0 else f"±{scale.error(error * unit)}")
        yield Markup.escape(entry.text[at:start])
        tag = "b" if entry.unsigned or score > 0 else "i"
        word = entry.text[start : start + length]
        yield Markup("<{0} {1} title={2}>{3}</{0}>").format(tag, letters[shade - 1], hint, word)
        at = start + length
    yield Markup.escape(entry.text[at:_LONGEST_STATIC])
