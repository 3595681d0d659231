"""Normalised AOPC: AOPC relative to its lower and upper bound for the text."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.metrics.aopc import mean_drop
from mase.metrics.protocol import Column, Instance
from mase.metrics.search import best_order
from mase.scalars import check_integer

__all__ = ["NormalisedAopc"]

# A smaller range between the bounds is floating-point noise.
_SMALLEST_RANGE = 1e-9


@dataclass(frozen=True, slots=True)
class NormalisedAopc:
    """(AOPC - floor) / (ceiling - floor), where floor and ceiling bound the AOPC of this text.

    The bounds are the AOPCs of the worst and the best order that beam search finds. NAOPC is from Edin et al. (arXiv
    2408.08137). It makes AOPC comparable between models, whose ranges of AOPC differ. For "top first" higher is better,
    for "bottom first" lower. The value is NaN if no order changes the probability. Beam search is not exact, so a value
    can be slightly above 1 or below 0.

    Parameters
    ----------
    beam
        Width of the beam; 5 by default, as in Edin et al. Costs about beam x w^2 evaluations per text.
    """

    beam: int = 5
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_integer("beam", self.beam, 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Top first, bottom first, and the two bounds, which tables leave out."""
        return (
            Column("top first", "higher"),
            Column("bottom first", "lower"),
            Column("ceiling", "higher", headline=False),
            Column("floor", "lower", headline=False),
        )

    def evaluate(self, instance: Instance) -> Floats:
        """Return the two normalised areas, the ceiling and the floor `(4,)`."""
        low, high = instance.cache.get_or_compute(("naopc", self.beam, instance.target), lambda: self._bounds(instance))
        order = instance.ranked
        drops = np.array([mean_drop(instance, order), mean_drop(instance, order[::-1])])
        if high - low < _SMALLEST_RANGE:
            return np.array([np.nan, np.nan, high, low])
        return np.array([*((drops - low) / (high - low)), high, low])

    def _bounds(self, instance: Instance) -> tuple[float, float]:
        """Return the floor and the ceiling of the text."""
        low, high = (
            mean_drop(instance, best_order(instance.masker, instance.target, beam=self.beam, lowest=lowest))
            for lowest in (False, True)
        )
        return low, high
