"""The words of units: what summaries and comparisons of runs count as the same word."""

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["AFTER", "BEFORE", "bare"]

# Punctuation, signs such as $ and +, and invisible characters; emoji are words.
BEFORE, AFTER = r"^[\p{P}\p{Sm}\p{Sc}\p{Cc}\p{Cf}]+", r"[\p{P}\p{Sm}\p{Sc}\p{Cc}\p{Cf}]+$"


def bare(units: pa.Array) -> pa.Array:
    """Return the texts of units in lower case, in NFC, and without punctuation around them, if anything else is left.

    Examples
    --------
    >>> bare(pa.array(["Film,", "film", "..."])).to_pylist()
    ['film', 'film', '...']
    """
    # By Python, because utf8_normalize of Arrow 17 composes no letters.
    composed = pa.array([unicodedata.normalize("NFC", unit) for unit in units.to_pylist()], units.type)
    lowered = pc.utf8_lower(composed)
    words = pc.replace_substring_regex(lowered, f"{BEFORE}|{AFTER}", "")
    return pc.if_else(pc.equal(words, ""), lowered, words)
