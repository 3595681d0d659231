"""Phrases: the parts of sentences between punctuation and conjunctions."""

import re
from dataclasses import dataclass
from itertools import pairwise

from mase.text import Span, visible
from mase.units.sentence import Sentence

__all__ = ["Phrase"]

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
        found: list[Span] = []
        for start, end in Sentence(self.language).split(text):
            cuts = [start, *(match.end() for match in ends.finditer(text, start, end)), end]
            found += (span for cut in pairwise(cuts) if (span := visible(text, cut)) is not None)
        return found
