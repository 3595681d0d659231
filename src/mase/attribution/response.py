"""A response: an explained number of a model, with the scores of the units."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np

from mase.arrays import Floats, Ints, as_floats
from mase.attribution.interaction import Interaction
from mase.errors import OptionError
from mase.registry import unknown
from mase.scalars import check_integer

__all__ = ["EFFECTS", "Z95", "By", "Response", "error_of", "in_order", "ranking", "total_error_of"]

By = Literal["order", "score", "magnitude"]

# The effects of a unit between which a method may tell: of `mase` the first is the score.
EFFECTS = ("removed", "kept")
# Half the width of a 95 % interval in standard errors (normal distribution).
Z95 = 1.959964
# Digits of scores, as shares of the largest, that are no rounding; and the least difference that is none.
_DIGITS, _SAME = 9, 2e-9


def error_of(effect: str) -> str:
    """Return the name of the standard errors of an effect."""
    return f"{effect}_error"


def total_error_of(effect: str) -> str:
    """Return the name of the total errors of an effect."""
    return f"{effect}_total_error"


def ranking(scores: Any) -> Ints:
    """Return the order `(w,)` of units by descending signed scores `(w,)`, ties by position in the text.

    The unit that increases the response of the explained class most comes first, and the one that decreases it most
    comes last. Scores are tied that differ by rounding, less than 1e-9 of the largest.

    Raises
    ------
    ShapeError, NonFiniteError
        If the scores are not w finite numbers.

    Examples
    --------
    >>> ranking([0.1, -2.0, 0.5, 0.1]).tolist()
    [2, 0, 3, 1]
    """
    return np.argsort(-_rounded(as_floats(scores, (None,), "scores")), kind="stable").astype(np.int64)


def in_order(scores: Any, order: Any) -> bool:
    """Return whether an order `(w,)` is by descending scores `(w,)`, but for ties and rounding."""
    steps = np.diff(_rounded(as_floats(scores, (None,), "scores"))[np.asarray(order, dtype=np.int64)])
    return bool((steps <= _SAME).all())


def _rounded(scores: Floats) -> Floats:
    """Return scores `(w,)` as shares of the largest, without their last digits, which are rounding."""
    largest = np.abs(scores).max(initial=0.0)
    return np.round(scores / largest, _DIGITS) if largest else scores


@dataclass(frozen=True, slots=True)
class Response:
    """One explained number of a model, and the scores of the w units for it.

    Attributes
    ----------
    name
        Label of the explained class, or name of the explained value.
    link
        Which number of the class is explained (see `mase.links`).
    value
        The explained number for the unmasked document. Scores and standard errors have its unit.
    scores
        w scores. A positive score increases the response.
    standard_errors
        w standard errors of the scores, which are those between seeds. None for scores that are not estimates (such as
        random ones); they have no interval.
    total_errors
        w errors of the scores as distances from those of endless rows: the standard errors, and what a penalty takes
        from a score with every seed. Displays show intervals of these. None if they are the standard errors.
    order
        Indices of the w units, best first, as metrics and top lists use them. It is the `ranking` of the scores unless
        the method has its own order.
    r2
        Share of the response's variance over all rows that the scores explain, adjusted for the number of coordinates.
        It is at most 1, and negative if the scores predict worse than a constant. None if there are too few rows to
        estimate it.
    effects
        Further effects of the w units by name, and their standard and total errors (`error_of`, `total_error_of`). Of
        `mase` it is ``kept``, what a unit brings with it where most weak units are masked; its scores are what is lost
        without a unit where most of the other strong ones are masked. Of `mase-rationale` it is that one, ``removed``.
        Empty for other methods.
    r2_held_out
        Share of the variance within the rounds of the design that the scores explain in rows that were left out of the
        fit (`mase.regression.held_out`). None if there are too few rows, or if all possible rows were asked.
    exact
        Whether the model was evaluated on all possible rows, so that nothing was sampled. False if a method does not
        say.
    signed
        Whether the sign of a score says if its unit increases or decreases the response. Otherwise a score is a
        magnitude.
    token_scores
        t scores of the tokens, 0 for special tokens. None if the tokens of a unit were masked together, so that a token
        has no score of its own.
    against
        Label of the class that this one is compared with: the explained number is then the difference of both. None if
        the class is not compared with another one.
    split_half
        How well two halves of the sample agree on the strongest words; see `Fit`.
    interactions
        The pairs of units that matter together, of largest absolute score first (see `Interaction`). Empty if none
        does, or if the rows of the method do not tell pairs apart.
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
    against: str | None = None
    split_half: float | None = None
    interactions: tuple[Interaction, ...] = ()
    total_errors: tuple[float | None, ...] | None = None

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
        r2_held_out: float | None = None,
        signed: bool = True,
        exact: bool = False,
        token_scores: Floats | None = None,
        against: str | None = None,
        split_half: float | None = None,
        interactions: tuple[Interaction, ...] = (),
        total_errors: Floats | None = None,
        effects: Mapping[str, tuple[float, ...]] = MappingProxyType({}),
    ) -> Self:
        """Return a response with scores `(w,)`, standard errors `(w,)` (NaN if missing) and token scores `(t,)`."""
        return cls(
            name,
            link,
            value,
            scores=tuple(scores.tolist()),
            standard_errors=tuple(None if isnan(error) else error for error in standard_errors.tolist()),
            order=tuple(ranking(scores).tolist()),
            r2=r2,
            r2_held_out=r2_held_out,
            signed=signed,
            exact=exact,
            token_scores=None if token_scores is None else tuple(token_scores.tolist()),
            against=against,
            split_half=split_half,
            interactions=interactions,
            total_errors=None if total_errors is None else tuple(total_errors.tolist()),
            effects=dict(effects),
        )

    def best(self, k: int, by: By = "order") -> Ints:
        """Return the indices `(k,)` of the best units: in the order of the method, by signed or by absolute score.

        Raises
        ------
        OptionError
            If k is negative, or `by` is none of the three.
        """
        check_integer("k", k, 0)
        if by not in get_args(By):
            raise OptionError(f"by is {by!r}, expected 'order', 'score' or 'magnitude'")
        scores = np.array(self.scores, dtype=np.float64)
        order = self.order if by == "order" else ranking(np.abs(scores) if by == "magnitude" else scores)
        return np.array(order[: int(k)], dtype=np.int64)

    def effect(self, name: str) -> Self:
        """Return the response with one of its further effects as the scores.

        What is known of the scores alone, how well they fit among it, is left out.

        Raises
        ------
        UnknownNameError
            If there is no such effect.
        """
        known = [name for name in self.effects if error_of(name) in self.effects]
        if name not in known:
            raise unknown("effect", name, known)
        scores, errors = self.effects[name], self.effects[error_of(name)]
        total = self.effects.get(total_error_of(name))
        return replace(
            self,
            scores=scores,
            standard_errors=errors,
            total_errors=total,
            order=tuple(ranking(scores).tolist()),
            r2=None,
            r2_held_out=None,
            split_half=None,
            token_scores=None,
            interactions=(),
            effects={},
        )

    @property
    def interval_errors(self) -> tuple[float | None, ...]:
        """The w errors of which intervals are shown: the total errors, or the standard errors without these."""
        return self.standard_errors if self.total_errors is None else self.total_errors

    @property
    def title(self) -> str:
        """What is explained, for people: the name, or "pos rather than neg"."""
        return self.name if self.against is None else f"{self.name} rather than {self.against}"

    @property
    def intercept(self) -> float:
        """gamma_0 of the paper's Property "local accuracy": the value minus the sum of the scores."""
        return self.value - float(sum(self.scores))
