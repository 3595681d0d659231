"""One number of a model that is explained, and the scores of the units that explain it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Self

import numpy as np

from mase.arrays import Floats, Ints, as_floats

__all__ = ["Response", "ranking"]


def ranking(scores: Any) -> Ints:
    """Return the order `(w,)` of units by scores `(w,)`: signed, descending, ties by position in the text.

    What speaks most for the explained class comes first, what speaks most against it last (R26).

    Raises
    ------
    ShapeError, NonFiniteError
        If the scores are not w finite numbers.

    Examples
    --------
    >>> ranking([0.1, -2.0, 0.5, 0.1]).tolist()
    [2, 0, 3, 1]
    """
    return np.argsort(-as_floats(scores, (None,), "scores"), kind="stable").astype(np.int64)


@dataclass(frozen=True, slots=True)
class Response:
    """One number that a model answers, and what w units contribute to it.

    Attributes
    ----------
    name
        What is explained: the label of a class.
    link
        Which number of it (see `mase.links`).
    value
        That number for the document itself. Scores and standard errors have its unit.
    scores
        w scores. A positive one speaks for the response.
    standard_errors
        w standard errors: the change of the response per unit of a coordinate. None for scores that estimate nothing
        (random ones), which have no interval.
    order
        The indices of the w units, best first. Metrics and top lists follow it. It is the `ranking` of the scores
        unless a method orders otherwise.
    r2
        Share of the response's variance that the scores explain, adjusted for the number of coordinates; at most 1,
        below 0 when the scores predict worse than a constant; None when there are too few rows to tell.
    effects
        Further effects of the w units by name: ``leave_one_out`` (it out, all others in), ``keep_only`` (it in, all
        others out). Empty unless a method was told to ask for them.
    r2_held_out
        The same share on rows that the scores were not fitted to; None where there are none.
    exact
        Whether all rows that there are were asked, so that nothing was drawn. False where a method does not say.
    signed
        Whether the sign of a score tells for which side its unit speaks. Otherwise a score is a magnitude.
    token_scores
        t scores of the tokens, 0 for special ones; None where the tokens of a unit were moved together, so that none
        has a score of its own.
    """

    name: str
    link: str
    value: float
    scores: tuple[float, ...]
    standard_errors: tuple[float | None, ...]
    order: tuple[int, ...]
    r2: float | None
    effects: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    r2_held_out: float | None = None
    exact: bool = False
    signed: bool = True
    token_scores: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        link: str,
        value: float,
        scores: Floats,
        standard_errors: Floats,
        *,
        r2: float | None,
        signed: bool = True,
        token_scores: Floats | None = None,
    ) -> Self:
        """Return the response with scores `(w,)`, standard errors `(w,)`, NaN where there is none, and token scores `(t,)`."""
        return cls(
            name,
            link,
            value,
            scores=tuple(scores.tolist()),
            standard_errors=tuple(None if isnan(error) else error for error in standard_errors.tolist()),
            order=tuple(ranking(scores).tolist()),
            r2=r2,
            signed=signed,
            token_scores=None if token_scores is None else tuple(token_scores.tolist()),
        )

    @property
    def intercept(self) -> float:
        """gamma_0 of the paper's Property "local accuracy": the value minus the sum of the scores."""
        return self.value - float(sum(self.scores))
