"""Note, Fit, and (new) the catalogue of notes that 15 modules word today."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mase.defaults import Precision

# Number of strongest words that displays list. Split-half agreement is computed for as many words.
LISTED = 8


@dataclass(frozen=True, slots=True)
class Note:
    """A note for the reader of the scores, with a `code` for programs and a `message` for people.

    `unit` is the index of the unit that the note is about, or None if it is about the document. `response` is the name
    of the response that it is about, or None if it is about all of them. A note holds no data: a program finds what it
    needs in the fields of the attribution.
    """

    code: str
    message: str
    unit: int | None = None
    response: str | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """How repeatable the scores of the first response are, and what all cost. `Response.r2` says how much they explain.

    Attributes
    ----------
    split_half
        How well two halves of the sample agree on the 8 strongest words (on the stronger half of a text of fewer than
        16 words). It is the share of the summed absolute scores of these words that belongs to words which a half also
        has among its own 8 strongest, averaged over both halves. None if a half is too small.
    condition
        Condition number of the design's second-moment matrix, relative to its distribution; 1 is ideal.
    n_queries, n_gradients
        Number of model evaluations (rows), forward only and with a backward pass. The check of a torch module, a few
        rows once, is not counted (`mase.models.torch.probe`).
    seconds
        Wall time of the explanation.
    precision
        "bfloat16" if half precision was requested and used, otherwise "float32", also for a model whose own weights
        have another type. The requested precision is among the settings of the method.
    """

    split_half: float | None
    condition: float | None
    n_queries: int
    n_gradients: int
    seconds: float = field(compare=False)
    precision: Precision = "float32"


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
