"""AOPC: the mean drop of the target's probability while the words are masked one by one."""

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

    "top first" (comprehensiveness in Edin et al.) masks the words of highest score first; higher is better. "bottom
    first" (sufficiency in Edin et al.) masks those of lowest score first; lower is better. From Samek et al., IEEE
    TNNLS 2017, with one step per word as in Edin et al., arXiv 2408.08137. Each costs one evaluation per word.
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
    return instance.text_probability - float(target_probabilities(instance, without_top(order, steps)).mean())
