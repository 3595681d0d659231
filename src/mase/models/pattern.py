"""Regular expressions of tokenizers: find by their form those that may take very long to match.

The engine of `tokenizers` (Oniguruma) tries one way to match after the other. A repeat inside a repeat, or many choices
in a row, give exponentially many ways. Published tokenizers use much simpler patterns. A pattern with an element that
this module does not know is refused.
"""

import math
from dataclasses import dataclass, replace

from mase.models import limits

__all__ = ["shortest_match"]

_MANY = math.inf
_FLAGS = frozenset("imsad-")
_ASSERTIONS = ("?=", "?!", "?<=", "?<!")
_REFERENCES = frozenset("123456789kg")
_ANCHORS = frozenset("bBAzZGK")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern.

    Attributes
    ----------
    least, most
        The shortest and the longest text that it can match.
    ways
        The number of ways to match at one position, not counting unbounded repeats.
    repeats
        The number of unbounded repeats that may follow each other.
    size
        The length of the part with all counted repeats written out.
    fails
        Whether it can fail to match.
    """

    least: float
    most: float
    ways: float = 1
    repeats: int = 0
    size: float = 1
    fails: bool = True


_NOTHING = _Part(0, 0, fails=False)
_CHARACTER = _Part(1, 1)
_ANCHOR = _Part(0, 0)


def shortest_match(pattern: str) -> int:
    """Return the length of the shortest match of a pattern, after checking that matching takes reasonable time.

    Raises
    ------
    ValueError
        If the pattern is too large, may take very long, or has an element that this module does not know.

    Examples
    --------
    >>> shortest_match(r"'s| ?[^\\s\\d]+|\\s+(?!\\S)|\\s+")
    1
    >>> shortest_match("(a+)+b")
    Traceback (most recent call last):
    ...
    ValueError: it repeats something that can match in several ways
    """
    if len(pattern) > limits.PATTERN_CHARACTERS:
        raise ValueError(f"it has {len(pattern):,} characters, expected at most {limits.PATTERN_CHARACTERS:,}")
    reader = _Reader(pattern)
    part = reader.alternatives(0)
    if reader.rest:
        raise ValueError(f"it closes a group that was not opened, at {reader.rest[:10]!r}")
    return int(part.least)


@dataclass(slots=True)
class _Reader:
    """A recursive-descent parser: a pattern and the position that is read next."""

    pattern: str
    position: int = 0

    @property
    def rest(self) -> str:
        return self.pattern[self.position : self.position + 20]

    def take(self, n: int = 1) -> str:
        text = self.pattern[self.position : self.position + n]
        if len(text) < n:
            raise ValueError("it ends too early")
        self.position += n
        return text

    def skip(self, text: str) -> bool:
        follows = self.pattern.startswith(text, self.position)
        self.position += len(text) * follows
        return follows

    def alternatives(self, nesting: int) -> _Part:
        if nesting > limits.PATTERN_NESTING:
            raise ValueError(f"it has groups with more than {limits.PATTERN_NESTING} levels of nesting")
        branches = [self.sequence(nesting)]
        while self.skip("|"):
            branches.append(self.sequence(nesting))
        return _either(branches)

    def sequence(self, nesting: int) -> _Part:
        part = _NOTHING
        while self.rest and self.rest[0] not in "|)":
            part = _then(part, self.repeated(self.atom(nesting)))
        return part

    def atom(self, nesting: int) -> _Part:
        character = self.take()
        if character == "(":
            return self.group(nesting)
        if character == "[":
            self.character_class(nesting)
            return _CHARACTER
        if character == "\\":
            return self.escape()
        if character in "*+?":
            raise ValueError(f"it has nothing to repeat before {character!r}")
        return _ANCHOR if character in "^$" else _CHARACTER

    def group(self, nesting: int) -> _Part:
        asserts = any(self.skip(start) for start in sorted(_ASSERTIONS, key=len, reverse=True))
        if not asserts and not self.skip("?:") and not self.skip("?>") and self.skip("?"):
            self.named_or_flags()
            if self.skip(")"):  # (?i) applies to the rest of the pattern
                return _NOTHING
        inner = self.alternatives(nesting + 1)
        if not self.skip(")"):
            raise ValueError("it has a group that is not closed")
        return _Part(0, 0, inner.ways, inner.repeats, inner.size) if asserts else inner

    def named_or_flags(self) -> None:
        if self.skip("<"):
            while self.take() != ">":
                pass
            return
        flags = ""
        while self.rest and self.rest[0] not in ":)":
            flags += self.take()
        if not flags or not _FLAGS.issuperset(flags):
            raise ValueError(f"it has an unknown kind of group: '(?{flags[:10]}'")
        self.skip(":")

    def character_class(self, nesting: int) -> None:
        """Read up to the bracket that closes a class; a class may contain classes."""
        if nesting > limits.PATTERN_NESTING:
            raise ValueError(f"it has classes with more than {limits.PATTERN_NESTING} levels of nesting")
        self.skip("^")
        self.skip("]")
        while (character := self.take()) != "]":
            if character == "\\":
                self.take()
            elif character == "[":
                self.character_class(nesting + 1)

    def escape(self) -> _Part:
        character = self.take()
        if character in _REFERENCES:
            raise ValueError(f"it has a reference to a group ('\\{character}'), which can take very long to match")
        if character in "pPx" and self.skip("{"):
            while self.take() != "}":
                pass
        elif character in "ux":
            self.take({"u": 4, "x": 2}[character])
        if character == "X":
            return _Part(1, _MANY, repeats=1)
        return _ANCHOR if character in _ANCHORS else _Part(1, 2) if character == "R" else _CHARACTER

    def repeated(self, part: _Part) -> _Part:
        """Return a part with the quantifier that follows it."""
        braced, bounds = self.rest.startswith("{"), self.bounds()
        if bounds is None:
            return part
        part = _times(part, *bounds)
        if self.skip("+"):  # after a brace it is another repeat, otherwise it makes the quantifier possessive
            part = _times(part, 1, _MANY) if braced else part
        elif self.skip("?"):  # after a brace it may make the part optional, otherwise it makes the quantifier lazy
            part = replace(part, least=0, ways=part.ways + 1) if braced else part
        if self.bounds() is not None:
            raise ValueError("it has a quantifier after a quantifier")
        return part

    def bounds(self) -> tuple[int, float] | None:
        """Read a quantifier and return its bounds, None if there is none; a brace may be an ordinary character."""
        for sign, bounds in (("*", (0, _MANY)), ("+", (1, _MANY)), ("?", (0, 1))):
            if self.skip(sign):
                return bounds
        closed = self.pattern.find("}", self.position)
        inside = self.pattern[self.position + 1 : closed] if self.rest.startswith("{") and closed > 0 else ""
        least, comma, most = inside.partition(",")
        if not (least + most).isdecimal() or not (least + most).isascii() or len(inside) > 12:
            return None
        self.position = closed + 1
        return int(least or 0), (int(most) if most else _MANY) if comma else int(least)


def _either(branches: list[_Part]) -> _Part:
    ways = sum(part.ways for part in branches)
    if ways > limits.PATTERN_WAYS:
        raise ValueError(f"it can match in {ways:,.0f} ways at one position, expected at most {limits.PATTERN_WAYS}")
    return _Part(
        min(part.least for part in branches),
        max(part.most for part in branches),
        ways,
        max(part.repeats for part in branches),
        sum(part.size for part in branches),
        all(part.fails for part in branches),
    )


def _then(first: _Part, second: _Part) -> _Part:
    ways, repeats = first.ways * second.ways, first.repeats + second.repeats
    if ways > limits.PATTERN_WAYS:
        raise ValueError(f"it can match in {ways:,.0f} ways at one position, expected at most {limits.PATTERN_WAYS}")
    # If the part after the last repeat fails, the search goes back and tries all lengths of all repeats before it.
    if repeats > limits.PATTERN_REPEATS or (first.repeats == limits.PATTERN_REPEATS and second.fails):
        raise ValueError("it has too many consecutive unbounded repeats")
    size = first.size + second.size
    if size > limits.PATTERN_CHARACTERS:
        raise ValueError(f"written out it has {size:,.0f} characters, expected at most {limits.PATTERN_CHARACTERS:,}")
    return _Part(first.least + second.least, first.most + second.most, ways, repeats, size, first.fails or second.fails)


def _times(part: _Part, least: int, most: float) -> _Part:
    if most < least:
        raise ValueError(f"it repeats from {least} to {most} times, expected the smaller number first")
    if most > 1 and (part.ways > 1 or part.repeats or part.least != part.most or not part.most):
        raise ValueError("it repeats something that can match in several ways")
    copies = max(1, least if most == _MANY else most)
    if part.size * copies > limits.PATTERN_CHARACTERS:
        raise ValueError(f"written out it has {part.size * copies:,.0f} characters")
    if most == _MANY:
        return _Part(part.least * least, _MANY, 1, 1, part.size * copies, least > 0)
    ways = part.ways + 1 if (least, most) == (0, 1) else part.ways * (most - least + 1)
    if ways > limits.PATTERN_WAYS:
        raise ValueError(f"it can match in {ways:,.0f} ways at one position, expected at most {limits.PATTERN_WAYS}")
    return _Part(part.least * least, part.most * most, ways, part.repeats, part.size * copies, least > 0)
