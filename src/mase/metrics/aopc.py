"""AOPC: the mean loss of probability over all steps of taking the words out one by one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.metrics.curves import stepwise, target_probabilities
from mase.metrics.protocol import Column, Instance
from mase.metrics.ranking import without_top

__all__ = ["Aopc", "mean_drop"]


@dataclass(frozen=True, slots=True)
class Aopc:
    """Area over the perturbation curve: mean over i = 1..w of p(target | text) - p(target | text without i words).

    "top first" (comprehensiveness in Edin et al.) takes the words of highest score out first: the higher the better;
    "bottom first" (sufficiency there) those of lowest score: the lower the better. Samek et al., IEEE TNNLS 2017;
    stepwise over all words as in Edin et al., arXiv 2408.08137. Costs one evaluation per word for each.
    """

    needs_rescore: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """Top first, bottom first."""
        return Column("top first", "higher"), Column("bottom first", "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the two areas `(2,)`."""
        order = instance.ranked
        return np.array([mean_drop(instance, order), mean_drop(instance, order[::-1])])


def mean_drop(instance: Instance, order: Ints) -> float:
    """Return the mean over i = 1..w of p(text) - p(text without the first i words of `order` `(w,)`)."""
    steps = stepwise(len(order))[1:]
    return instance.whole - float(target_probabilities(instance, without_top(order, steps)).mean())
