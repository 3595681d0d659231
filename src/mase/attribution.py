"""The result: an `Attribution` says which words made a model decide, how sure that is and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from mase.arrays import Floats, frozen
from mase.errors import OptionError
from mase.text import Span, Truncation

__all__ = ["LISTED", "Attribution", "Fit", "Note", "Prediction", "Token", "Word"]

# How many words a screen lists beside a text; agreement of halves is about as many.
LISTED = 8


@dataclass(frozen=True, slots=True)
class Word:
    """One word with its score: `start` and `end` are its span in the original text.

    `standard_error` has the unit of `score`: change of the explained response per unit of the word's coordinate. It is
    None where scores estimate nothing (random ones), so that they have no interval.
    """

    text: str
    start: int
    end: int
    score: float
    standard_error: float | None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Token:
    """One token as the model read it. Special tokens have no span, no word and score 0.

    `score` is None where tokens were moved together as a word, so that none has a score of its own.
    """

    text: str
    start: int | None
    end: int | None
    word: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model said of the text: the class with the highest probability, and all probabilities by label."""

    label: str
    index: int
    probability: float
    probabilities: Mapping[str, float] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that a reader of the scores must know: `code` for programs, `message` for people.

    `word` is the index of the word that it is about, None where it is about the whole text.
    """

    code: str
    message: str
    word: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """How well the scores describe the model around the text, and what they cost.

    Attributes
    ----------
    r2
        Share of the response's variance that the scores explain, adjusted for the number of coordinates; at most 1,
        below 0 when the scores predict worse than a constant; None when there are too few rows to tell.
    split_half
        How far two halves of the sample agree about the 8 strongest words (in a text of fewer than 16, its stronger
        half): the share of their summed absolute scores that belongs to words which a half also has among its own 8
        strongest, mean of both halves. None when a half is too small.
    condition
        Condition number of the design's second-moment matrix (relative to its law); 1 is ideal.
    n_queries, n_gradients
        Model evaluations (rows), forward only and with a backward pass.
    seconds
        Wall time of the explanation.
    warnings
        Remarks on what may mislead.
    """

    r2: float | None
    split_half: float | None
    condition: float | None
    n_queries: int
    n_gradients: int
    seconds: float = field(compare=False)
    warnings: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribution:
    """Scores of the words of one text for one class of one model, with error bars, fit quality and provenance.

    A positive score speaks for `target`, a negative one against it. `response` is what is explained (its margin, by
    the default method; see `link`) and `intercept` is gamma_0 = response - sum of scores (Property "local accuracy").
    """

    text: str
    prediction: Prediction
    target: str
    target_probability: float
    link: str
    response: float
    word_scores: tuple[Word, ...]
    tokens: tuple[Token, ...]
    fit: Fit
    method: Mapping[str, Any] = field(hash=False)
    model: Mapping[str, Any] = field(hash=False)
    seed: int
    versions: Mapping[str, str] = field(hash=False)
    truncation: Truncation | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Texts of the w words, in reading order."""
        return tuple(word.text for word in self.word_scores)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Spans `(start, end)` of the w words in `text`."""
        return tuple((word.start, word.end) for word in self.word_scores)

    @property
    def scores(self) -> Floats:
        """Scores `(w,)` of the words, read-only."""
        return frozen(np.array([word.score for word in self.word_scores], dtype=np.float64))

    @property
    def standard_errors(self) -> Floats:
        """Standard errors `(w,)` of the scores, read-only; NaN for scores that have none."""
        errors = [np.nan if word.standard_error is None else word.standard_error for word in self.word_scores]
        return frozen(np.array(errors, dtype=np.float64))

    @property
    def intercept(self) -> float:
        """gamma_0 of the paper's Property "local accuracy": response minus the sum of the scores."""
        return self.response - float(sum(word.score for word in self.word_scores))

    def top(self, k: int = 10, *, by: str = "score") -> tuple[Word, ...]:
        """Return the k words that speak most for the target, ties in reading order.

        Parameters
        ----------
        k
            How many, at most; capped by the number of words.
        by
            ``"score"``: signed, descending (what Delta Accuracy masks); ``"magnitude"``: largest absolute score first.

        Raises
        ------
        OptionError
            If k is negative or `by` is neither of the two.
        """
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 0:
            raise OptionError(f"k is {k!r}, expected an integer >= 0")
        if by not in ("score", "magnitude"):
            raise OptionError(f"by is {by!r}, expected 'score' or 'magnitude'")
        return tuple(
            sorted(self.word_scores, key=lambda word: -(abs(word.score) if by == "magnitude" else word.score))[: int(k)]
        )

    def as_list(self) -> list[tuple[str, float]]:
        """Return `(word, score)` pairs in reading order."""
        return [(word.text, word.score) for word in self.word_scores]

    def to_dict(self) -> dict[str, Any]:
        """Return the attribution as plain JSON types (schema ``mase.attribution/1``)."""
        from mase.io.json import to_dict

        return to_dict(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the attribution to `path` as JSON; `mase.load` reads it back equal."""
        from mase.io.json import save

        save(self, path)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page with the highlighted text, and write it to `path` if one is given."""
        from mase.render.html import page, write_page

        return page([self]) if path is None else write_page([self], path)

    def plot(self, k: int = 20) -> Any:
        """Return a matplotlib figure: the k words of largest absolute score with 95 % intervals, in reading order."""
        from mase.render.figure import bar_chart

        return bar_chart(self, k)

    def _repr_html_(self) -> str:
        from mase.render.html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        from mase.render.terminal import summary

        return summary(self)
