"""Half precision, tried on a few rows before it is trusted."""

import numpy as np

from mase.arrays import Floats
from mase.attribution import Note, Precision
from mase.errors import CapabilityError
from mase.models.protocol import HalfProbe
from mase.regression.oracle import ProbeOracle

__all__ = ["TRIAL_ROWS", "Precision", "coins", "halved"]

# Rows on which half precision is tried, and the share of the signal that its noise may have.
TRIAL_ROWS, _LARGEST_NOISE = 16, 0.1


def coins(rng: np.random.Generator, p: int) -> Floats:
    """Return rows `(n, p)` of fair coins, valid in every space, that leave the generator's own stream as it is."""
    return rng.spawn(1)[0].integers(0, 2, size=(TRIAL_ROWS, p)).astype(np.float64)


def halved(oracle: ProbeOracle, rows: Floats, *, needs_gradients: bool) -> tuple[ProbeOracle, int, list[Note]]:
    """Return the oracle in half precision if that is fast, and precise enough on some rows `(n, p)`; the cost; why it is not.

    Raises
    ------
    CapabilityError
        If the probe has no half precision.
    """
    if needs_gradients:
        return oracle, 0, [Note("float32-instead", "half precision is for answers; gradients were taken in float32")]
    if not isinstance(oracle.probe, HalfProbe):
        raise CapabilityError(
            "half precision is for torch models, expected precision='float32' for a function of texts"
        )
    probe = oracle.probe.half()
    if probe is None:
        message = (
            "this processor has no instructions for bfloat16, where half precision is the slower: float32 was used"
        )
        return oracle, 0, [Note("float32-instead", message)]
    half, trial, rough_trial = oracle.fresh(probe), oracle.fresh(), oracle.fresh(probe)
    trial.consistency = oracle.consistency  # half precision rounds differently alone: only full precision is compared
    exact, rough = trial.responses(rows), rough_trial.responses(rows)
    cost = trial.n_queries + rough_trial.n_queries
    signal, noise = float(exact.std()), float((exact - rough).std())
    if noise <= _LARGEST_NOISE * signal:
        return half, cost, []
    message = f"half precision would add noise of {noise:.2g} to a signal of {signal:.2g}: float32 was used"
    return oracle, cost, [Note("float32-instead", message)]
