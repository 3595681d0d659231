"""The prediction of a model for a document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from mase.arrays import Floats

__all__ = ["Prediction"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable class, its index and its probability, and the probabilities of all classes by label."""

    label: str
    index: int
    probability: float
    probabilities: Mapping[str, float] = field(hash=False)

    @classmethod
    def of(cls, labels: Sequence[str], probabilities: Floats) -> Self:
        """Return the prediction for probabilities `(k,)` of k labels; of equally probable classes the first wins."""
        index = int(np.argmax(probabilities))
        by_label = dict(zip(labels, probabilities.tolist(), strict=True))
        return cls(labels[index], index, float(probabilities[index]), by_label)
