"""Which units are the sources of a part of an answer."""

from dataclasses import dataclass
from math import log
from statistics import NormalDist

from mase.attribution.response import Response

__all__ = ["MOST_CITED", "Citation", "cited"]

MOST_CITED = 3
# Of all units of a document together, in either direction.
_WRONG = 0.05
# Displays do not mark a unit below this share of the largest absolute score.
_LEAST_SHARE = 0.1
# Any text around a question moves the answer a little, also where the model knows it by itself. A source makes its odds
# (or probability) ten times as high.
_LEAST_SCORE = dict.fromkeys(("logit", "log-probability"), log(10))


@dataclass(frozen=True, slots=True)
class Citation:
    """A unit of the document that is a source of a part of the answer.

    `unit` is the index of the unit, and `score` its score for the part, which is positive. `standard_error` has the
    unit of the score.
    """

    unit: int
    score: float
    standard_error: float


def cited(response: Response) -> tuple[Citation, ...]:
    """Return the units that are the sources of a part with this response: at most three, strongest first.

    A unit is a source if it makes the odds (or probability) of the part at least ten times as high, and its score is
    above 0 beyond the sampling error of all units together and no less than a tenth of the largest absolute one.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.array([0.5, 0.3, 0.5])
    >>> response = Response.of("answer", "logit", 2.0, np.array([4.0, 0.2, -3.0]), errors, r2=0.9)
    >>> cited(response)
    (Citation(unit=0, score=4.0, standard_error=0.5),)
    """
    if not response.signed or not response.scores:
        return ()
    # The joint interval of w units (Bonferroni): the strongest of a hundred units without any effect would otherwise
    # be cited nearly always.
    width = NormalDist().inv_cdf(1 - _WRONG / 2 / len(response.scores))
    least = max(_LEAST_SHARE * max(map(abs, response.scores)), _LEAST_SCORE.get(response.link, 0.0))
    found = [
        Citation(unit, score, error)
        for unit, (score, error) in enumerate(zip(response.scores, response.standard_errors, strict=True))
        if error is not None and score > width * error and score >= least
    ]
    return tuple(sorted(found, key=lambda one: -one.score)[:MOST_CITED])
