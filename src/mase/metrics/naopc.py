"""Normalised AOPC: where between the floor and the ceiling of the text an order of words lies."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.metrics.aopc import mean_drop
from mase.metrics.protocol import Column, Instance
from mase.metrics.search import best_order

__all__ = ["NormalisedAopc"]

# Of the range between floor and ceiling: below it is rounding.
_SMALLEST_RANGE = 1e-9


@dataclass(frozen=True, slots=True)
class NormalisedAopc:
    """(AOPC - floor) / (ceiling - floor), the bounds being AOPCs of the orders that beam search finds, for this text alone.

    NAOPC of Edin et al. (arXiv 2408.08137): AOPC itself cannot be compared between models, whose ranges differ. "top
    first" is the better the higher, "bottom first" the better the lower. NaN where no order changes anything. An order
    that beats the beam counts as it is: the number can be a little above 1 or below 0.

    Parameters
    ----------
    beam
        Orders followed; the paper's 5 by default. About beam x w^2 evaluations per text.
    """

    beam: int = 5
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise OptionError(f"beam is {self.beam}, expected an integer >= 1")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Top first, bottom first, and the bounds (which tables leave out)."""
        return (
            Column("top first", "higher"),
            Column("bottom first", "lower"),
            Column("ceiling", "higher", headline=False),
            Column("floor", "lower", headline=False),
        )

    def evaluate(self, instance: Instance) -> Floats:
        """Return the two normalised areas, the ceiling and the floor `(4,)`."""
        low, high = instance.memory.once(("naopc", self.beam, instance.target), lambda: self._bounds(instance))
        order = instance.ranked
        found = np.array([mean_drop(instance, order), mean_drop(instance, order[::-1])])
        if high - low < _SMALLEST_RANGE:
            return np.array([np.nan, np.nan, high, low])
        return np.array([*((found - low) / (high - low)), high, low])

    def _bounds(self, instance: Instance) -> tuple[float, float]:
        """Return the floor and the ceiling of the text."""
        low, high = (
            mean_drop(instance, best_order(instance.masker, instance.target, beam=self.beam, lowest=lowest))
            for lowest in (False, True)
        )
        return low, high
