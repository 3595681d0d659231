"""The scores of a text's words from a mapping from words to scores, as LIME gives it."""

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence

from mase.arrays import Floats, as_floats
from mase.errors import ShapeError
from mase.text import Words, find_words

__all__ = ["scores_of_words"]

# An underscore is punctuation, as it is to `find_words`.
_LETTERS, _AROUND = re.compile(r"[^\W_]+"), re.compile(r"^[\W_]+|[\W_]+$")


def scores_of_words(given: Mapping[str, float], text: str, words: Words) -> Floats:
    """Return each word's score `(w,)`; a word that the mapping lacks, as "doesn't", gets the sum over its letter runs.

    Raises
    ------
    ShapeError
        If no word of the mapping is in the text, or one is several words of it, or a word has several scores.
    NonFiniteError
        If a score is not finite.
    """
    read, uncased = [text[slice(*span)] for span in words.spans], all(word == word.lower() for word in given)
    if uncased:
        read = [word.lower() for word in read]
    scores = {**given, **_without_punctuation(given, {_bare(word) for word in read if word not in given})}
    scored = [next(([one] for one in (word, _bare(word)) if one in scores), _LETTERS.findall(word)) for word in read]
    taken = {part for parts in scored for part in parts}
    unused = [word for word, score in given.items() if score and not {word, _bare(word)} & taken]
    several = next(_several(unused, text, words, uncased=uncased), None)
    if several is not None:
        raise ShapeError(
            f"the mapping has the score {given[several]:g} for {several!r:.80}, which is several words of the text "
            f"{text[:40]!r}, expected one per word; pass (word, score) pairs in reading order"
        )
    if taken.isdisjoint(scores):
        raise ShapeError(f"none of the words {sorted(scores)[:5]} is in the text {text[:40]!r}, expected its words")
    return as_floats([sum(scores.get(part, 0.0) for part in parts) for parts in scored], (None,), "scores")


def _bare(word: str) -> str:
    """Return a word without the punctuation around it, and punctuation as it is."""
    return _AROUND.sub("", word) or word


def _without_punctuation(scores: Mapping[str, float], words: Container[str]) -> dict[str, float]:
    """Return the scores of bare words that the mapping has with or without punctuation around them."""
    bare: dict[str, float] = {}
    for word, score in scores.items():
        inner = _bare(word)
        if inner in words and bare.setdefault(inner, scores.get(inner, score)) != score:
            raise ShapeError(
                f"the mapping has several scores for {inner!r}, one is {score} for {word!r}, expected one per word; "
                "pass (word, score) pairs in reading order"
            )
    return bare


def _several(given: Sequence[str], text: str, words: Words, *, uncased: bool) -> Iterator[str]:
    """Yield the words of a mapping that are in the text where two or more of its words are, and not inside of others.

    A mapping may have a whole vocabulary. Most of its words are not in the text, which is quickly told.
    """
    ends, runs = [end for _, end in words.spans], find_words(text)
    firsts, lasts = {start for start, _ in runs}, {end for _, end in runs}
    searched, flags = (text.lower(), re.IGNORECASE) if uncased else (text, re.NOFLAG)
    for word in given:
        bare = _bare(word)
        for match in re.finditer(re.escape(bare), text, flags) if bare in searched else ():
            following = bisect_right(ends, match.start()) + 1
            reaches = following < len(ends) and words.spans[following][0] < match.end()
            if reaches and match.start() in firsts and match.end() in lasts:
                yield word
