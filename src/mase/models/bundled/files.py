"""The files of a bundled model: its configuration and its vocabulary."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mase.errors import DataError
from mase.models import limits
from mase.models.limits import read_text, whole_number
from mase.text import Span


def check_configuration(path: Path, config: Mapping[str, Any]) -> None:
    """Check name, labels, max_length and keep of a stored model's `config.json`."""
    labels = config["labels"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f"{path} has labels {labels!r:.60}, expected a list of names")
    if not 2 <= len(labels) <= limits.LABELS or len(set(labels)) < len(labels):
        raise DataError(f"{path} has {len(labels):,} labels, expected 2 to {limits.LABELS:,} different ones")
    if config["keep"] not in ("start", "end") or not isinstance(config["name"], str):
        raise DataError(
            f"{path} has name {config['name']!r:.60} and keep {config['keep']!r:.60}, expected a string, "
            "and 'start' or 'end'"
        )
    whole_number(path, "max_length", config["max_length"], 1, limits.POSITIONS)


PAD_ID, UNKNOWN_ID = 0, 1
_SPECIAL = ("<pad>", "<unk>")  # no word contains "<", so these cannot clash with one

# Letters and digits with inner apostrophes. The line breaks of the IMDB texts are matched too and then skipped, so that
# "br" does not become a word.
_WORD = re.compile(r"<br\s*/?>|[^\W_]+(?:['’][^\W_]+)*", re.IGNORECASE)


def words(text: str) -> Iterator[tuple[str, Span]]:
    """Yield the lower-cased words of `text`, each with its span in `text`.

    Examples
    --------
    >>> list(words("It's<br />GOOD"))
    [("it's", (0, 4)), ('good', (10, 14))]
    """
    for match in _WORD.finditer(text):
        if not match[0].startswith("<"):
            yield match[0].lower(), match.span()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A mapping from words to ids. Id 0 is padding; id 1 is any word that is not in the vocabulary."""

    ids: Mapping[str, int]

    @classmethod
    def of(cls, entries: Sequence[str]) -> "Vocabulary":
        """Return the vocabulary in which the i-th word has id i + 2."""
        return cls(MappingProxyType({word: index for index, word in enumerate(entries, start=len(_SPECIAL))}))

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Return the vocabulary that `dumps` wrote to `path`: one word per line, whose line number is its id."""
        lines = read_text(path, limits.VOCABULARY_BYTES).splitlines()
        if tuple(lines[:2]) != _SPECIAL or len(set(lines)) != len(lines):
            raise DataError(
                f"{path} is not a vocabulary, expected the lines {', '.join(_SPECIAL)} and then one word per line, "
                "all different"
            )
        return cls.of(lines[2:])

    def dumps(self) -> str:
        """Return the vocabulary as text, one word per line in the order of the ids."""
        return "\n".join([*_SPECIAL, *self.ids]) + "\n"

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.of, (list(self.ids),)  # a read-only mapping cannot be pickled

    def __len__(self) -> int:
        return len(self.ids) + len(_SPECIAL)

    def encode(self, text: str) -> tuple[list[int], list[Span]]:
        """Return the ids `(t,)` of the words of `text` and their spans."""
        pairs = list(words(text))
        return [self.ids.get(word, UNKNOWN_ID) for word, _ in pairs], [span for _, span in pairs]
