"""How a text is marked: its pieces, colours, shades and bars."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context
from pathlib import PureWindowsPath
from typing import Self
from unicodedata import bidirectional

import numpy as np
from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

from mase.arrays import Floats, Ints
from mase.attribution.attribution import Attribution, Word
from mase.attribution.evidence import NEGLIGIBLE
from mase.attribution.response import Z95, in_order
from mase.document import Document, Field
from mase.text import Span, boundary

# Flags of parts of a country (England, Scotland and Wales): a black flag, and tags that nobody sees.
_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)

# Control characters except tab and line end; marks that change the reading direction; zero-width characters, which a
# classifier reads but a person cannot see (except joiners, which scripts and emoji need), so also fillers and tags, in
# which a whole text can be hidden; and surrogates, which cannot be encoded. Flags are matched to be kept.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\u3164"
    f"\u115f\u1160\u17b4\u17b5\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f"
    f"\U000e0100-\U000e01ef]|{_FLAGS}"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text, with its scored `word` and the index of that `unit` if it is one.

    `unread` says that the model did not read it, and `name` that it is no text but the name of a field.
    """

    text: str
    word: Word | None = None
    unit: int | None = None
    unread: bool = False
    name: bool = False


def visible(text: str) -> str:
    """Return `text` with visible replacements for characters that control a terminal or the reading direction.

    Examples
    --------
    >>> visible("a\\x1b[31mred\\u202e")
    'a␛[31mred⟨202E⟩'
    """
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def inline(text: str) -> str:
    """Return `text` visible (see `visible`) and on one line, for labels, names and single words."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def model_name(name: object) -> str:
    """Return the name of a model for titles and headings: of a path to a folder or file the last part, on one line.

    Two parts may be a name on the hub, and are kept, and so is a URL.

    Examples
    --------
    >>> model_name("/home/ada/models/llama"), model_name("./llama/"), model_name("C:\\\\models\\\\llama")
    ('llama', 'llama', 'llama')
    >>> model_name("owner/llama"), model_name("https://models.example/v2/models/llama")
    ('owner/llama', 'https://models.example/v2/models/llama')
    """
    text = str(name)
    path = PureWindowsPath(text)  # it knows both separators
    is_path = "://" not in text and (path.anchor or text.startswith(".") or len(path.parts) > 2)
    return inline(path.name if is_path and path.name else text)


def isolated(text: str) -> str:
    """Return `text` as `inline` does. If it is read from right to left, marks keep it apart from what is around it."""
    shown = inline(text)
    return f"\u2068{shown}\u2069" if any(bidirectional(letter) in ("R", "AL") for letter in shown) else shown


def labelled(attribution: Attribution, word: Word) -> str:
    """Return a unit in one line for lists: its text, with the name of its field if units of several texts are scored.

    A number or a category is written as in ``age = 41``.
    """
    texts = [field.name for field in attribution.document if field.value is None and not field.fixed]
    if word.field not in texts:
        return f"{inline(word.field)} = {inline(word.text)}"
    return f"{inline(word.text)} ({inline(word.field)})" if len(texts) > 1 else inline(word.text)


def _shown(match: re.Match[str]) -> str:
    if len(match[0]) > 1:
        return match[0]
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨{code:04X}⟩"


def pieces(attribution: Attribution, *, longest_unread: int) -> list[Piece]:
    """Return the text in reading order, with one field below the other, each after its name unless it is a plain text.

    An unread part longer than `longest_unread` characters is shortened to what is next to the read text. Empty words
    are left out. If two words overlap, the second starts where the first ends.
    """
    parts: list[Piece] = []
    plain = Document(attribution.document).is_plain
    for index, field in enumerate(attribution.document):
        parts += [Piece("\n")] if index else []
        parts += [] if plain else [Piece(f"{inline(field.name)}{' (fixed)' if field.fixed else ''}", name=True)]
        parts += pieces_of_field(attribution, field, longest_unread=longest_unread)
    return parts


def pieces_of_field(attribution: Attribution, field: Field, *, longest_unread: int) -> list[Piece]:
    """Return the text of one field in reading order; see `pieces`."""
    words = [(unit, word) for unit, word in enumerate(attribution.word_scores) if word.field == field.name]
    result = _of_field(field.text, words, _read(attribution, field), longest_unread)
    return [piece for piece in result if piece.text]


def _of_field(text: str, words: Sequence[tuple[int, Word]], read: Span, longest_unread: int) -> Iterator[Piece]:
    """Yield the pieces of one field, of which the model read the span `read`."""
    at, end = read
    yield _unread(text[:at], longest_unread, from_end=True)
    for unit, word in sorted(words, key=lambda pair: pair[1].start):
        first, last = max(word.start, at), min(word.end, end)
        if first >= last:
            continue
        yield from (Piece(visible(text[at:first])), Piece(visible(text[first:last]), word, unit))
        at = last
    yield from (Piece(visible(text[at:end])), _unread(text[end:], longest_unread, from_end=False))


def _read(attribution: Attribution, field: Field) -> Span:
    """Return the span of a field that the model read: all of it, unless the document was truncated."""
    size = len(field.text)
    read = [(token.start, token.end) for token in attribution.tokens if token.field == field.name]
    read += [(unit.start, unit.end) for unit in attribution.units if unit.field == field.name]
    starts, ends = [start for start, _ in read if start is not None], [end for _, end in read if end is not None]
    if attribution.truncation is None or not ends:
        return 0, size
    return (max(0, min(starts)), size) if attribution.truncation.kept == "end" else (0, min(size, max(ends)))


def _unread(text: str, longest: int, *, from_end: bool) -> Piece:
    if len(text) <= longest:
        return Piece(visible(text), unread=True)
    cut = boundary(text, len(text) - longest if from_end else longest)
    hidden = f"[{cut if from_end else len(text) - cut:,} characters]"
    shown = f"{hidden} … {visible(text[cut:])}" if from_end else f"{visible(text[:cut])} … {hidden}"
    return Piece(shown, unread=True)


# Distinguishable with every common kind of colour blindness, and visible on light and on dark backgrounds.
RED, BLUE = "#dc2f45", "#2f7fe0"

# For unsigned scores.
NEUTRAL = "#8a5fc4"

# One-letter attributes for the strength of a word, the second six for words whose interval includes 0. They keep a page
# of ten long texts near 100 kB, which a class attribute per word would not.
SHADES, FAINT_SHADES = "abcdef", "ghijkl"

# Below this share of the strongest score a word is not marked, because its shade would be invisible.
_UNMARKED = 0.1
_SET_APART = 10_000  # as in `mase.render.wording.amount`
_LARGEST = 1e15  # larger scores and errors have an exponent, because doubles do not have all of their digits
_MOST_DECIMALS = 5
_ONE_DIGIT = Context(prec=1, rounding=ROUND_UP)


def error95(word: Word) -> float | None:
    """Return half the width of the 95 % interval of a word's score; None if it has none."""
    error = word.standard_error if word.total_error is None else word.total_error
    return None if error is None else Z95 * error


def are_estimates(attribution: Attribution) -> bool:
    """Return whether the scores are estimates, exact ones included; True for an attribution without words."""
    errors = attribution.responses[0].standard_errors
    return not errors or any(error is not None for error in errors)


def has_intervals(attribution: Attribution) -> bool:
    """Return whether a score has an interval. Exact scores, and those that are not estimates, have none."""
    return any(attribution.responses[0].interval_errors)


def is_unsigned(attribution: Attribution) -> bool:
    """Return whether the sign of the scores has no meaning."""
    return not (attribution.signed and are_estimates(attribution))


def strongest(attribution: Attribution, k: int) -> tuple[Word, ...]:
    """Return the k words that displays list: those of largest absolute score.

    If the method orders words otherwise than by their scores, they are the first words of that order.
    """
    return attribution.top(k, by="magnitude" if is_by_score(attribution) else "order")


def is_by_score(attribution: Attribution) -> bool:
    """Return whether the method orders words by their scores, those that are most for the target first."""
    return in_order(attribution.scores, attribution.order)


def is_significant(word: Word) -> bool:
    """Return whether the 95 % interval of a word's score excludes 0; True if there is no interval."""
    error = error95(word)
    return error is None or abs(word.score) > error


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of one text: its largest absolute score, and the number of decimals that shows three digits of it.

    `decimals` is None for very small or very large scores, which are shown with an exponent. `intervals` says whether
    the scores of the text have intervals, `signs` whether a sign means something, and `marks` whether anything matters.

    Examples
    --------
    >>> scale = Scale(0.25, 3)
    >>> scale.signed(0.1), scale.signed(-0.04), scale.error(0.0001)
    ('+0.100', '−0.040', '0.001')
    """

    maximum: float
    decimals: int | None
    intervals: bool = True
    signs: bool = True
    marks: bool = True

    @classmethod
    def of(cls, maximum: float, *, intervals: bool = True, signs: bool = True, marks: bool = True) -> Self:
        """Return the scale of scores of at most this absolute value."""
        digits = 2 - math.floor(math.log10(maximum)) if maximum else 3
        plain = digits <= _MOST_DECIMALS and maximum < _LARGEST
        return cls(maximum, max(0, digits) if plain else None, intervals, signs, marks)

    def level(self, word: Word, levels: int) -> int:
        """Return the strength of a word from 1 to `levels`, or 0 if it is not marked."""
        return int(self.levels(np.array([word.score]), levels)[0])

    def levels(self, scores: Floats, levels: int) -> Ints:
        """Return the strengths `(w,)` of words from 1 to `levels`, or 0 where a word is not marked."""
        shares = np.abs(scores) / (self.maximum or 1.0)
        strengths = np.minimum(levels, np.ceil(shares * levels - 1e-9)).astype(np.int64)
        return np.where((shares < _UNMARKED) | (not self.marks), 0, strengths)

    def signed(self, value: float) -> str:
        """Return a score with its sign, if there are any."""
        number = f"{abs(value):.1e}" if self.decimals is None else self._fixed(abs(value))
        sign = "−" if value < 0 else "+" if self.signs else ""
        return f"{sign if number.strip('0.e+') else ''}{number}"

    def error(self, value: float) -> str:
        """Return half the width of an interval, rounded up so that it never looks smaller than it is."""
        if self.decimals is None or value > _LARGEST:
            return f"{float(_ONE_DIGIT.create_decimal(value * (1 - 1e-9))):.0e}"  # any size, infinity included
        unit = 10**self.decimals
        return self._fixed(math.ceil(value * unit - 1e-9) / unit)

    def _fixed(self, size: float) -> str:
        """Return a number with the decimals of the scale; from 10,000 on thousands are set apart, as in values."""
        number = f"{size:.{self.decimals}f}"
        return number if float(number) < _SET_APART else f"{size:,.{self.decimals}f}"

    def interval(self, word: Word, between: str = " ± ") -> str:
        """Return a word's score and half the width of its 95 % interval, if it has one."""
        error = error95(word) if self.intervals else None
        return self.signed(word.score) + ("" if error is None else f"{between}{self.error(error)}")


def scale_of(attribution: Attribution) -> Scale:
    """Return the scale of one text."""
    largest = max(map(abs, attribution.responses[0].scores), default=0.0)
    marks = all(note.code != NEGLIGIBLE for note in attribution.own_notes)
    return Scale.of(largest, intervals=has_intervals(attribution), signs=attribution.signed, marks=marks)


# Opacity, and pixels of the line below, by level.
_LEVELS = ((0.08, 1), (0.16, 1), (0.25, 2), (0.34, 2), (0.44, 3), (0.56, 3))


def shades(attribution: Sequence[Attribution]) -> list[Markup]:
    """Return for each unit its attributes `r0`, `r1`, ...: one for each of these attributions of several responses.

    They hold the level, after "-" if the unit speaks against the response, and before "~" if its interval includes 0.
    """
    names = [Markup("")] * len(attribution[0].units)
    for index, item in enumerate(attribution):
        signed = not is_unsigned(item)
        for unit, (word, level) in enumerate(
            zip(item.word_scores, scale_of(item).levels(item.scores, len(_LEVELS)).tolist(), strict=True)
        ):
            if level:
                sign, faint = "-" if signed and word.score < 0 else "", "" if is_significant(word) else "~"
                names[unit] += Markup(f" r{index}={sign}{level}{faint}")
    return names


def shading(n_parts: int) -> str:
    """Return the style sheet that shades sources for a whole answer, and for one of n parts that is chosen."""
    rules = [_rules(".mase .cites ", 0)]
    for index in range(1, n_parts + 1):
        part = f".p{index}"
        chosen = (
            f":has({part}:hover),:not(:has(.part:hover)):has({part}:focus-within),"
            f":not(:has(.part:hover,.part:focus-within)):has({part}:target,{part}.target)"
        )
        of = f".of0{{display:none}}.of{index}{{display:inline}}.at{index}{{background:rgb(128 128 128/.16)}}"
        rules.append(f".mase .cites:is({chosen}){{{_rules('', index)}{of}}}")
    return "".join(rules)


def _rules(within: str, index: int) -> str:
    """Return the rules that shade units by their attribute `r` of one response."""
    levels = (
        f'{within}[r{index}*="{level}"]{{--k:{opacity};--w:{width}px;--e:1}}'
        for level, (opacity, width) in enumerate(_LEVELS, 1)
    )
    return (
        f"{within}.u{{--k:0;--f:1;--e:0;--c:var(--for);--s:solid;--g:1}}{''.join(levels)}"
        f'{within}[r{index}^="-"]{{--c:var(--against);--s:dashed;--g:var(--solid,1)}}'
        f'{within}[r{index}$="~"]{{--f:.4;--e:0}}'
    )


def bars(words: Sequence[Word], *, signed: bool) -> list[Markup]:
    """Return the contents of an `svg` for each word.

    All bars start at the 0 of a common axis, which is as wide as the longest bars and intervals on either side need.
    If the scores are not `signed`, all bars have the same colour.
    """
    ends = [word.score + sign * (error95(word) or 0.0) for word in words for sign in (-1, 1)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    width = (high - low) or 1.0

    def box(kind: str, item: float, other: float) -> Markup:
        left, right = (1 + 98 * (value - low) / width for value in sorted((item, other)))
        shape = '<rect class={} x="{:.3g}%" width="{:.3g}%"/>'
        return Markup(shape).format(kind, left, right - left)

    def bar(word: Word) -> Markup:
        error = error95(word)
        whisker = "" if error is None else box("w", word.score - error, word.score + error)
        return box("p" if word.score > 0 or not signed else "n", 0.0, word.score) + box("z", 0.0, 0.0) + whisker

    return [bar(word) for word in words]


_EIGHTHS = " ▏▎▍▌▋▊▉"


def shortened_to_width(label: str, width: int) -> str:
    """Return a label of at most `width` cells; a longer one ends with an ellipsis."""
    if cell_len(label) <= width:
        return label
    start = set_cell_size(label, width - 1).rstrip()
    return label[: boundary(label, len(start))] + "…"


def cells(label: str, width: int) -> str:
    """Return a label of exactly `width` cells; one that is read from right to left is kept apart from what follows."""
    shown = shortened_to_width(label, width)
    return isolated(shown) + " " * (width - cell_len(shown))


def bar(share: float, longest: int, *, ascii_only: bool) -> str:
    """Return a bar of at most `longest` cells, of which it fills a share."""
    if ascii_only:
        return "#" * round(share * longest)
    eighths = round(share * longest * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
