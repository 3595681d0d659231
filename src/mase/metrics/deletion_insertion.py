"""Deletion and insertion: the area under the target's probability while words are masked, or restored, one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.metrics.curves import area, stepwise, target_probabilities
from mase.metrics.masking import Masker
from mase.metrics.protocol import Column, Instance
from mase.metrics.ranking import without_top

__all__ = ["Deletion", "Insertion", "areas"]


def areas(masker: Masker, target: int, orders: Sequence[Ints]) -> Floats:
    """Return deletion and insertion `(o, 2)` for o orders of the words `(w,)`.

    These are the values of `Deletion` and `Insertion`, for orders instead of scores. The model is evaluated for all
    orders at once.
    """
    masked = np.stack([without_top(order, stepwise(len(masker.words))) for order in orders])
    rows = np.stack([masked, ~masked], axis=1)
    probability = masker.probabilities(rows.reshape(-1, rows.shape[-1]))[:, target].reshape(rows.shape[:3])
    return np.array([[area(curve) for curve in pair] for pair in probability])


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
