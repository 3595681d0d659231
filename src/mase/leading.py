"""The first place: of the highest words, the one whose absence alone does most."""

from dataclasses import replace

import numpy as np

from mase.attribution import Note
from mase.oracle import ProbeOracle
from mase.sample import Estimate

__all__ = ["led"]

# How far a raised score stands above the one that was the highest; by how much of the spread of all answers an effect must
# exceed that word's, since less is rounding; and what share of that word's score it must have: where no word alone does
# anything to speak of, none leads.
_STEP, _CLEARLY, _LEAST = 1e-6, 1e-3, 0.1


def led(oracle: ProbeOracle, estimate: Estimate, n: int, spread: float) -> tuple[Estimate, tuple[Note, ...]]:
    """Return the estimate with the leader's score raised just above the highest, and a note if that changed the order.

    The leader is the one of the n highest coordinates, of those with a score above 0, whose absence alone lowers the response
    most, and by a tenth of the highest score at least. `spread` is the standard deviation of the responses so far; where they
    are all the same there is nothing to lead.
    """
    if n < 2 or spread == 0:
        return estimate, ()
    gamma = estimate.gamma.copy()
    highest = np.argsort(-gamma, kind="stable")[:n]
    rows = np.ones((n, oracle.size))
    rows[np.arange(n), highest] = 0
    effects = np.where(gamma[highest] > 0, oracle.text - oracle.responses(rows), 0.0)
    leader = highest[np.argmax(effects)]
    effect, top = effects.max(), gamma[highest[0]]
    if effect - max(effects[0], 0.0) <= _CLEARLY * spread or effect < _LEAST * top:
        return estimate, ()
    message = (
        f"the first word leads because it does most alone ({effect:+.3g}); among absent companions its score is "
        f"{gamma[leader]:+.3g}, which its standard error is of"
    )
    gamma[leader] = top * (1 + _STEP)
    return replace(estimate, gamma=gamma), (Note("led", message),)
