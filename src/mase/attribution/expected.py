"""What the scores lead to expect when units are masked."""

from collections.abc import Callable, Iterable, Mapping
from math import exp, fsum, isclose
from typing import TYPE_CHECKING

from mase.errors import OptionError
from mase.scalars import is_integer

if TYPE_CHECKING:
    from mase.attribution.attribution import Attribution

__all__ = ["chosen", "expected_probability", "expected_response"]

# The largest relative difference between a probability and the one that its link leads back to.
_SAME = 1e-4


def chosen(units: Iterable[int], n: int) -> tuple[int, ...]:
    """Return indices of some of n units, each once.

    Raises
    ------
    OptionError
        If they are not an iterable, or one is not an integer from 0 to n - 1.
    """
    if not isinstance(units, Iterable):
        raise OptionError(f"units is {units!r:.80}, expected a list of indices, as in [0]")
    found = []
    for unit in units:
        if not is_integer(unit) or not 0 <= unit < n:
            raise OptionError(f"unit is {unit!r:.80}, expected the index of a unit, from 0 to {n - 1}")
        found.append(int(unit))
    return tuple(dict.fromkeys(found))


def expected_response(found: "Attribution", units: Iterable[int]) -> float | None:
    """Return the response that the scores lead to expect with these units masked.

    None if the scores have no sign, are not estimates, or are effects on the responses of several windows.

    Raises
    ------
    OptionError
        If one is not the index of a unit.
    """
    first, out = found.responses[0], chosen(units, len(found.units))
    if not found.signed or found.windows or (first.scores and all(error is None for error in first.standard_errors)):
        return None
    return first.value - fsum(first.scores[unit] for unit in out)


def expected_probability(found: "Attribution", response: float) -> float | None:
    """Return the probability of the explained class at which its link has the value `response`.

    None for a value, for a contrast, and if other classes decide it, too: the margin of three or more classes, and the
    logit of one class out of several whose probabilities sum to 1.
    """
    inverse, own = _INVERSES.get(found.link), found.target_probability
    if inverse is None or own is None or found.responses[0].against is not None:
        return None
    if found.link == "margin" and len(found.prediction.probabilities) > 2:
        return None
    if found.link == "logit" and not isclose(inverse(found.response), own, rel_tol=_SAME):
        return None
    return inverse(response)


def _bounded(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _sigmoid(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > 0 else exp(value) / (1 + exp(value))


_INVERSES: Mapping[str, Callable[[float], float]] = {
    "probability": _bounded,
    "log-probability": lambda value: exp(min(value, 0.0)),
    "logit": _sigmoid,
    "margin": _sigmoid,
}
