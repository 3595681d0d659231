"""Rows of words and phrases with their bars, as the page of the report shows them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from urllib.parse import quote

from mase.characters import boundary
from mase.render.palette import Scale
from mase.render.pieces import visible
from mase.report.entries import shortened
from mase.summary.effects import Example, GroupDifference, PhraseEffect, PushDifference, WordEffect

__all__ = [
    "Cell",
    "ExampleRow",
    "Limits",
    "Line",
    "Row",
    "RowList",
    "group_line",
    "phrase_line",
    "push_line",
    "room",
    "row_list",
    "scale_of_list",
    "share",
    "word_line",
]


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


def word_line(found: WordEffect, scale: Scale) -> Line:
    """Return a word with its effect, number of texts, and share of texts in which it is among the five strongest."""
    cells = (
        Cell("effect", _interval(found.effect, found.low, found.high, scale)),
        Cell("texts", f"{found.n_texts:,}"),
        Cell("in top 5", share(found.share_top)),
    )
    return Line(found.word, found.effect, found.low, found.high, cells, found.examples)


def phrase_line(found: PhraseEffect, scale: Scale) -> Line:
    """Return a phrase with its effect and the effect that its words lead to expect."""
    cells = (
        Cell("effect", _interval(found.effect, found.low, found.high, scale)),
        Cell("expected", scale.signed(found.expected)),
        Cell("texts", f"{found.n_texts:,}"),
        Cell("in top 5", share(found.share_top)),
    )
    return Line(found.phrase, found.effect, found.low, found.high, cells, found.examples)


def push_line(found: PushDifference, scale: Scale) -> Line:
    """Return a word with the difference of its push between some predictions of a class and the others."""
    cells = (
        Cell("difference", _interval(found.difference, found.low, found.high, scale)),
        Cell("texts", f"{found.n_texts:,}"),
        Cell("in these", share(found.share)),
        Cell("in others", share(found.share_others)),
    )
    return Line(found.word, found.difference, found.low, found.high, cells, found.examples)


def group_line(found: GroupDifference, scale: Scale) -> Line:
    """Return a word with the difference of its effect between one group and the others."""
    cells = (
        Cell("difference", _interval(found.difference, found.low, found.high, scale)),
        Cell("here", scale.signed(found.effect)),
        Cell("elsewhere", scale.signed(found.effect_others)),
        Cell("texts", f"{found.n_texts:,}"),
    )
    return Line(found.word, found.difference, found.low, found.high, cells, found.examples)


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


def share(value: float) -> str:
    """Return a share in whole percent, never rounded to 0 or 100.

    Examples
    --------
    >>> share(0.456), share(0.001), share(0.999), share(1)
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
        word=shortened(line.word),
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
        before=("…" if example.cut_before else "") + shortened(example.before),
        text=shortened(example.text),
        after=shortened(example.after) + ("…" if example.cut_after else ""),
        score=scale.signed(example.score),
        id=shortened(example.id),
        href=f"#texts?row={example.row}",
    )


def _interval(value: float, low: float, high: float, scale: Scale) -> str:
    return f"{scale.signed(value)} ± {scale.error((high - low) / 2)}"
