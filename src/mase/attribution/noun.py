"""What the units of an attribution are called."""

from collections.abc import Mapping
from typing import Any

__all__ = ["noun_of"]

# Units of the library; others are called units.
_NOUNS = dict.fromkeys(("word", "wordpunct", "token", "dictionary"), "word") | {
    name: name for name in ("phrase", "sentence", "line", "paragraph", "document")
}


def noun_of(method: Mapping[str, Any]) -> str:
    """Return the noun for one unit of a method's settings: "word", "sentence", ... or "unit".

    Examples
    --------
    >>> noun_of({"units": "sentence(language=de)"}), noun_of({"units": "re:a"}), noun_of({})
    ('sentence', 'unit', 'word')
    """
    return _NOUNS.get(str(method.get("units", "word")).partition("(")[0], "unit")
