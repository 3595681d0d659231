"""Deletion and insertion: the area under the target's probability while words are masked, or restored, one by one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.metrics.curves import area, stepwise, target_probabilities
from mase.metrics.protocol import Column, Instance
from mase.metrics.ranking import without_top

__all__ = ["Deletion", "Insertion"]


@dataclass(frozen=True, slots=True)
class Deletion:
    """Area under p(target) over the share of masked words, from none to all; lower is better.

    The trapezoidal rule is used. Petsiuk et al., RISE, BMVC 2018. Costs one evaluation per word.
    """

    needs_rescore: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column("area", "lower"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the area `(1,)`."""
        return np.array(
            [area(target_probabilities(instance, without_top(instance.ranked, stepwise(len(instance.masker.words)))))]
        )


@dataclass(frozen=True, slots=True)
class Insertion:
    """Area under p(target) over the share of restored words, from none to all; higher is better.

    The trapezoidal rule is used. Petsiuk et al., RISE, BMVC 2018. Costs one evaluation per word.
    """

    needs_rescore: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column("area", "higher"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the area `(1,)`."""
        return np.array(
            [area(target_probabilities(instance, ~without_top(instance.ranked, stepwise(len(instance.masker.words)))))]
        )
