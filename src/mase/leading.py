"""The first place: of the highest words, the one whose absence alone does most."""

from dataclasses import replace

import numpy as np

from mase.attribution import Note
from mase.oracle import ProbeOracle
from mase.sample import Estimate

__all__ = ["led"]

# How far a raised score stands above the one that was the highest, and by how much of the spread of all answers an effect must
# exceed that word's: less is rounding.
_STEP, _CLEARLY = 1e-6, 1e-3


def led(oracle: ProbeOracle, estimate: Estimate, n: int, spread: float) -> tuple[Estimate, tuple[Note, ...]]:
    """Return the estimate with the leader's score raised just above the highest, and a note if that changed the order.

    The leader is the one of the n highest coordinates, of those with a score above 0, whose absence alone lowers the response
    most. `spread` is the standard deviation of the responses so far; where they are all the same there is nothing to lead.
    """
    if n < 2 or spread == 0:
        return estimate, ()
    gamma = estimate.gamma.copy()
    highest = np.argsort(-gamma, kind="stable")[:n]
    rows = np.ones((n, oracle.size))
    rows[np.arange(n), highest] = 0
    effects = np.where(gamma[highest] > 0, oracle.text - oracle.responses(rows), 0.0)
    leader = highest[np.argmax(effects)]
    if effects.max() - max(effects[0], 0.0) <= _CLEARLY * spread:
        return estimate, ()
    message = (
        f"the first word leads because it does most alone ({effects.max():+.3g}); among absent companions its score is "
        f"{gamma[leader]:+.3g}, which its standard error is of"
    )
    gamma[leader] = gamma[highest[0]] * (1 + _STEP)
    return replace(estimate, gamma=gamma), (Note("led", message),)
