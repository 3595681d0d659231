"""An interaction: what two units do together, beyond the sum of what each of them does."""

from dataclasses import dataclass

__all__ = ["Interaction"]


@dataclass(frozen=True, slots=True)
class Interaction:
    """A pair of units that together change the response by more, or less, than the sum of what each of them changes.

    The score of units i and j is the mean of F(i and j kept) - F(i kept) - F(j kept) + F(none of both kept), where F is
    the response, over the rows of the design for the other units. The scores of the units themselves do not depend on
    it. `docs/mathematics.md` has the formula, and says which pairs are tried and which of them are found.

    Attributes
    ----------
    units
        Indices of both units, in reading order.
    score
        How much more the response changes when both are kept than the sum of what each changes, in the unit of the
        response. Below 0, each does less, or the opposite, beside the other.
    standard_error
        Its standard error; 0 if all rows were evaluated.
    half_width
        Half the width of its interval, which is wider than that of a score: with a probability of 95 %, the intervals
        of all pairs that were tried hold. Otherwise those that are found, because they look strong, would miss.
    share
        Share of the variance of the response that the pair explains and the scores cannot.
    """

    units: tuple[int, int]
    score: float
    standard_error: float
    half_width: float
    share: float
