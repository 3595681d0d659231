"""Split a text for display: scored words, the text between them, and text that the model did not read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from unicodedata import bidirectional

from mase.attribution import Attribution, Field, Word
from mase.characters import boundary
from mase.document import Document
from mase.text import Span

__all__ = ["Piece", "inline", "isolated", "labelled", "model_name", "pieces", "pieces_of_field", "visible"]

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
    f"\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]|{_FLAGS}"
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
    found = _of_field(field.text, words, _read(attribution, field), longest_unread)
    return [piece for piece in found if piece.text]


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
