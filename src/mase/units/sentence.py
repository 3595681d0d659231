"""Sentences, found by the package sentencex of the Wikimedia Foundation."""

import re
from dataclasses import dataclass

from mase.errors import OptionError
from mase.lazy import require
from mase.text import Span, visible

__all__ = ["Sentence"]

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

        found = ((one["start_index"], one["end_index"]) for one in get_sentence_boundaries(self.language, text))
        return [span for whole in found if (span := visible(text, whole)) is not None]
