"""Splitters of texts into units, and from tokens to units and coordinates."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from mase.document import Document
from mase.errors import MaseError, OptionError, UnitsError
from mase.registry import require
from mase.text import Span, Tokens, Words, find_words, visible

if TYPE_CHECKING:
    from mase.arrays import Ints


@runtime_checkable
class Splitter(Protocol):
    """A way to split a text into units, the parts that are in or out as one."""

    @property
    def name(self) -> str:
        """What settings and messages call it; the same name always means the same units."""
        ...

    @property
    def complete(self) -> bool:
        """Whether tokens outside of all units are units of their own; otherwise they stay fixed."""
        ...

    def split(self, text: str) -> list[Span]:
        """Return the spans of the units of one field: in order, disjoint and not empty.

        Raises
        ------
        MaseError
            If the text cannot be split, for example because a package is missing.
        """
        ...


def spans_of(split: Callable[[str], Iterable[Span]], text: str, name: str) -> list[Span]:
    """Return the spans that `split` finds in a text, in order; `name` is what messages call it."""
    try:
        result = sorted(_span(item, name) for item in split(text))
    except MaseError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnitsError(f"{name} raised {reason:.300}, expected spans [(start, end), ...]") from error
    for start, end in result:
        if not 0 <= start < end <= len(text):
            raise UnitsError(
                f"{name} returned the span {(start, end)} for a text of {len(text)} characters, "
                "expected 0 <= start < end <= length"
            )
    for first, second in pairwise(result):
        if second[0] < first[1]:
            raise UnitsError(f"{name} returned the spans {first} and {second}, which overlap, expected disjoint spans")
    return result


def _span(given: Any, name: str) -> Span:
    try:
        start, end = given
        if isinstance(start, bool) or isinstance(end, bool):
            raise TypeError
        return index(start), index(end)
    except (TypeError, ValueError):
        raise UnitsError(f"{name} returned {given!r:.80}, expected a span (start, end) of two integers") from None


# The symbols from the arrows on are pictures, such as emoji, and mean something by themselves; © and ° come before.
_FIRST_PICTURE = "\u2190"


@dataclass(frozen=True, slots=True)
class Word:
    """Words with the punctuation that touches them, so that both are in or out as one.

    Punctuation after a word, or between two words, belongs to the word before it. Opening brackets and quotes belong to
    the word after them, and so does punctuation at the beginning of a word. Punctuation between spaces is a unit of its
    own. Emoji count as words.

    Examples
    --------
    >>> text = "(Not good!) - well-known"
    >>> [text[start:end] for start, end in Word().split(text)]
    ['(Not', 'good!)', '-', 'well-', 'known']
    """

    name = "word"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words with their punctuation."""
        return with_punctuation(text, _unicode_words)


def with_punctuation(text: str, words: Callable[[str], Iterator[Span]]) -> list[Span]:
    """Return the spans of the words that a function finds in runs of visible characters, with the characters between.

    A run without a word is a span of its own.
    """
    return [span for run in re.finditer(r"\S+", text) for span in _joined(run[0], words(run[0]), run.start())]


def is_picture(character: str) -> bool:
    """Return whether a character is a symbol that means something by itself, such as an emoji."""
    return character >= _FIRST_PICTURE and unicodedata.category(character) == "So"


def _joined(run: str, words: Iterator[Span], offset: int) -> Iterator[Span]:
    starts = [0, *(_opening(run, end, start) for (_, end), (start, _) in pairwise(words)), len(run)]
    return ((offset + start, offset + end) for start, end in pairwise(starts))


def _opening(run: str, start: int, end: int) -> int:
    """Return where the opening punctuation between two words begins, which belongs to the second one."""
    between = enumerate(run[start:end], start)
    return next((at for at, item in between if item in "¿¡" or unicodedata.category(item) in ("Ps", "Pi")), end)


def _unicode_words(run: str) -> Iterator[Span]:
    """Yield the spans of the words and pictures in a run of visible characters, without punctuation."""
    for start, end in find_words(run):
        if run[start].isalnum():
            yield start, end
        elif pictures := [at for at in range(start, end) if is_picture(run[at])]:
            yield pictures[0], pictures[-1] + 1


@dataclass(frozen=True, slots=True)
class WordPunct:
    """Words, and runs of punctuation as units of their own, as in NLTK's `WordPunctTokenizer`."""

    name = "wordpunct"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words and of the runs of punctuation; see `mase.text.find_words`."""
        return find_words(text)


@dataclass(frozen=True, slots=True)
class Token:
    """Every token is a coordinate. The units that are listed are words, with the sums of the scores of their tokens."""

    name = "token"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words and of the runs of punctuation; see `mase.text.find_words`."""
        return find_words(text)


# The line boundaries of `str.splitlines`.
_LINES = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Line:
    """Lines that are not empty, without the white space around them.

    Examples
    --------
    >>> Line().split("one\\n\\n two ")
    [(0, 3), (6, 9)]
    """

    name = "line"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the lines."""
        return [span for match in _LINES.finditer(text) if (span := visible(text, match.span())) is not None]


_LINE_END = r"(?>\r\n|[\n\r\x85\u2028])"
_BLANK_LINES = re.compile(rf"{_LINE_END}(?:[^\S\n\r\x85\u2028\u2029]*{_LINE_END})+|\u2029")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraphs: lines up to a blank line, or to U+2029, without the white space around them.

    Examples
    --------
    >>> Paragraph().split("one\\ntwo\\n \\nthree")
    [(0, 7), (10, 15)]
    """

    name = "paragraph"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the paragraphs."""
        ends = [(match.start(), match.end()) for match in _BLANK_LINES.finditer(text)]
        starts = [0, *(end for _, end in ends)]
        stops = [*(start for start, _ in ends), len(text)]
        spans = (visible(text, span) for span in zip(starts, stops, strict=True))
        return [span for span in spans if span is not None]


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """Each text as one unit: a document of a context, a field of a record.

    Examples
    --------
    >>> WholeDocument().split("One. Two.\\n")
    [(0, 9)]
    """

    name = "document"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the span of the text without the white space around it."""
        span = visible(text, (0, len(text)))
        return [] if span is None else [span]


# Codes as sentencex knows them: in lower case, and perhaps with a region, a script or a variant.
_CODE = re.compile("[a-z]{2,3}(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Sentences, without the white space around them. A blank line ends a sentence, too.

    Parameters
    ----------
    language
        Code of the language whose abbreviations do not end a sentence, as in "de" or "de-at". Full stops of all
        languages do, but for those of Khmer and Tibetan. A language without abbreviations of its own has those of
        English.

    Raises
    ------
    MissingDependencyError
        If sentencex is not installed.
    OptionError
        If the language is not a code such as "de".
    """

    language: str = "en"
    complete = True

    def __post_init__(self) -> None:
        require("sentencex", "sentences")
        if not isinstance(self.language, str) or _CODE.fullmatch(self.language) is None:
            raise OptionError(f"language is {self.language!r:.80}, expected the code of a language, such as 'de'")

    @property
    def name(self) -> str:
        """The name with the language, if that is not English."""
        return "sentence" if self.language == "en" else f"sentence(language={self.language})"

    def split(self, text: str) -> list[Span]:
        """Return the spans of the sentences."""
        from sentencex import get_sentence_boundaries

        result = ((item["start_index"], item["end_index"]) for item in get_sentence_boundaries(self.language, text))
        return [span for whole in result if (span := visible(text, whole)) is not None]


# Words that join clauses. Those that are often adverbs or prepositions ("so", "yet", "as", "after") are not among them.
_CONJUNCTIONS = {"en": "although|and|because|but|if|nor|or|since|though|unless|until|when|whereas|while"}
_ENDS = r"[,;:،؛)\]][)\]\"'”’»]*(?=\s)|[，；：、][」』”’）]*|(?<=\w)—|\s(?=[-–—]+\s|[(\[])"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Parts of sentences: they end at commas, semicolons, colons, dashes and brackets, and before conjunctions.

    These are the surface cues by which Marcu (The Theory and Practice of Discourse Parsing and Summarization, 2000)
    finds elementary discourse units. No parser is needed, so "bread and butter" is two phrases as well.

    Parameters
    ----------
    language
        Code of the language, as for sentences. Conjunctions are known of English ("en") only; in other languages
        phrases end at punctuation.

    Raises
    ------
    MissingDependencyError
        If sentencex is not installed.
    OptionError
        If the language is not a code such as "de".
    """

    language: str = "en"
    complete = True

    def __post_init__(self) -> None:
        Sentence(self.language)

    @property
    def name(self) -> str:
        """The name with the language, if that is not English."""
        return "phrase" if self.language == "en" else f"phrase(language={self.language})"

    def split(self, text: str) -> list[Span]:
        """Return the spans of the phrases."""
        conjunctions = _CONJUNCTIONS.get(self.language)
        before = rf"|\s(?=(?:{conjunctions})\b)" if conjunctions else ""
        ends = re.compile(_ENDS + before, re.IGNORECASE)
        result: list[Span] = []
        for start, end in Sentence(self.language).split(text):
            cuts = [start, *(match.end() for match in ends.finditer(text, start, end)), end]
            result += (span for cut in pairwise(cuts) if (span := visible(text, cut)) is not None)
        return result


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Words as in "word", but those of Chinese, Japanese, Thai, Lao, Khmer and Burmese come from ICU's dictionaries.

    Raises
    ------
    MissingDependencyError
        If icu4py is not installed.
    """

    name = "dictionary"
    complete = True

    def __post_init__(self) -> None:
        require("icu4py", "icu")

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words with their punctuation."""
        return with_punctuation(text, _dictionary_words)


def _dictionary_words(run: str) -> Iterator[Span]:
    """Yield the spans of the words and pictures in a run of visible characters, without punctuation."""
    from icu4py.breakers import WordBreaker

    start = 0
    for piece in WordBreaker(run, "en"):  # the pieces and not their offsets, which count in UTF-16
        if any(character.isalnum() or is_picture(character) for character in piece):
            yield start, start + len(piece)
        start += len(piece)


PREFIX = "re:"

# The letters of `(?im)` for flags; a pattern of str has UNICODE unless it has ASCII.
_LETTERS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}


@dataclass(frozen=True, slots=True)
class Regex:
    """The matches of a regular expression that are not empty. All else stays fixed.

    Examples
    --------
    >>> Regex(re.compile("b+", re.I)).split("aBb b"), Regex(re.compile("b+", re.I)).name
    ([(1, 3), (4, 5)], 're:(?i)b+')
    """

    pattern: re.Pattern[str]
    complete = False

    def __post_init__(self) -> None:
        if not isinstance(self.pattern.pattern, str):
            raise OptionError(f"units is {self.pattern!r:.80}, a pattern of bytes, expected one of str")

    @classmethod
    def parse(cls, text: str) -> Self:
        r"""Return the splitter that a string such as ``"re:\\w+"`` describes."""
        try:
            return cls(re.compile(text.removeprefix(PREFIX)))
        except (re.error, RecursionError, OverflowError) as error:
            raise OptionError(f"units is {text!r:.80}, expected a regular expression after 're:': {error}") from error

    @property
    def name(self) -> str:
        """The expression after "re:", with all flags in it."""
        expression = self.pattern.pattern
        flags = "".join(letter for flag, letter in _LETTERS.items() if self.pattern.flags & flag)
        if not flags or re.compile(expression).flags == self.pattern.flags:
            return PREFIX + expression
        return f"{PREFIX}(?{flags}){expression}"

    def split(self, text: str) -> list[Span]:
        """Return the spans of the matches."""
        return [match.span() for match in self.pattern.finditer(text) if match[0]]


@dataclass(frozen=True, slots=True)
class Function:
    """The spans that a function `text -> [(start, end), ...]` returns, in any order. All else stays fixed.

    Examples
    --------
    >>> Function(lambda text: [(4, 9), (0, 3)]).split("not great")
    [(0, 3), (4, 9)]
    """

    function: Callable[[str], Iterable[Span]]
    complete = False

    @property
    def lasting(self) -> bool:
        """Whether the name means the same function in another process: it is no lambda, and no method of an object."""
        owner = getattr(self.function, "__self__", None)
        named = owner is None or isinstance(owner, type | ModuleType)
        return named and "<" not in getattr(self.function, "__qualname__", "<")

    @property
    def name(self) -> str:
        """The module and the qualified name of the function."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        module = getattr(named, "__module__", None) or "builtins"  # a method of a built-in type has none
        return f"{module}.{named.__qualname__}"

    def split(self, text: str) -> list[Span]:
        """Return the spans of the units."""
        return spans_of(self.function, text, self.name)


_OUTSIDE, _INVISIBLE = -1, -2  # marks of tokens that have no unit


def group(tokens: Tokens, splitter: Splitter, within: Sequence[Span] | None = None) -> Words:
    """Return the units that the tokens of a document form; with `within`, only those into which these spans are split.

    A token belongs to every unit that it overlaps, and units that share a token are merged. A token that overlaps no
    unit is its own unit if the splitter is complete, and is fixed otherwise. A token that is empty, or only white
    space, belongs to the unit of the next token. Units without a token are left out.
    """
    spans = list(_spans(tokens.document, splitter, within))
    return _grouped(tokens, spans, complete=splitter.complete and within is None)


def grown(tokens: Tokens, spans: Sequence[Span]) -> list[Span]:
    """Return spans in the text of a document, grown to the ends of the tokens that they cut through, and merged.

    Tokens that overlap none of them have spans of their own. Spans without a token are left out.
    """
    return list(_grouped(tokens, spans, complete=True).spans)


def _spans(document: Document, splitter: Splitter, within: Sequence[Span] | None) -> Iterator[Span]:
    """Yield the spans of the units in the text of a document; a number or a category is one unit."""
    for field, first in zip(document.fields, document.starts, strict=True):
        if field.fixed:
            continue
        whole = (first, first + len(field.text))
        for begin, stop in [whole] if within is None else sorted(within):
            if whole[0] <= begin and stop <= whole[1]:
                text = document.text[begin:stop]
                spans = spans_of(splitter.split, text, splitter.name) if field.value is None else [(0, len(text))]
                yield from ((begin + start, begin + end) for start, end in spans)


def _grouped(tokens: Tokens, spans: Sequence[Span], *, complete: bool) -> Words:
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    pieces: list[Span | int] = []  # The span of the unit of each token, before units that share a token are merged.
    for span, fixed in zip(tokens.spans, tokens.fixed, strict=True):
        seen = None if fixed or span is None else visible(tokens.text, span)
        if seen is None:
            pieces.append(_OUTSIDE if fixed else _INVISIBLE)
            continue
        first, last = bisect_left(ends, seen[0] + 1), bisect_left(starts, seen[1]) - 1
        if first <= last:
            pieces.append((min(starts[first], seen[0]), max(ends[last], seen[1])))
        else:
            pieces.append(seen if complete else _OUTSIDE)
    merged = _merge(sorted({piece for piece in pieces if isinstance(piece, tuple)}))
    merged_starts = [start for start, _ in merged]
    of_token = [bisect_left(merged_starts, piece[0] + 1) - 1 if isinstance(piece, tuple) else piece for piece in pieces]
    return Words(tuple(merged), tuple(_join_invisible(of_token, tokens)))


def _merge(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    assert all(a[1] <= b[0] for a, b in pairwise(merged))
    return merged


def _join_invisible(of_token: Sequence[int], tokens: Tokens) -> list[int]:
    """Return the unit of each token, where invisible ones have that of the next token of the field that can be seen."""
    joined, following, field = list(of_token), _OUTSIDE, len(tokens.document.fields)
    starts = tokens.document.starts
    for position in reversed(range(len(joined))):
        span = tokens.spans[position]
        here = field if span is None else bisect_right(starts, span[0])
        if here != field:
            following, field = _OUTSIDE, here
        if joined[position] == _INVISIBLE:
            joined[position] = following
        elif not tokens.fixed[position]:
            following = joined[position]
    return joined


def coordinates(words: Words, *, per_token: bool) -> "Ints":
    """Return the coordinate of each token `(t,)`, -1 for fixed tokens and tokens outside words.

    The tokens of a word share a coordinate, unless `per_token` gives each token its own.
    """
    import numpy as np

    of_word = np.array(words.of_token, dtype=np.int64)
    if not per_token:
        return of_word
    free = of_word >= 0
    return np.where(free, np.cumsum(free) - 1, -1)


def members(words: Words, of_token: "Ints") -> "list[Ints]":
    """Return the coordinates of each word in ascending order, given the coordinates of the tokens `(t,)`."""
    import numpy as np

    groups: list[set[int]] = [set() for _ in words.spans]
    for word, coordinate in zip(words.of_token, of_token.tolist(), strict=True):
        if coordinate >= 0:
            groups[word].add(coordinate)
    return [np.array(sorted(group), dtype=np.int64) for group in groups]
