"""The prediction of a model for a document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from mase.arrays import Floats

__all__ = ["Prediction"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The most probable class, or the values of a model that has no classes.

    Attributes
    ----------
    label, index
        The most probable class and its index; of several values, the first, or the largest if they rank classes.
    probability
        Its probability; None for a value.
    probabilities
        Probabilities of all classes by label; empty for a model of values.
    values
        The values by name; empty for a classifier.
    multilabel
        Whether the classes are separate questions, so that several can be true, rather than one of them. None for
        values, and in results of releases that did not record it.
    """

    label: str
    index: int
    probability: float | None
    probabilities: Mapping[str, float] = field(hash=False)
    values: Mapping[str, float] = field(default_factory=dict, hash=False)
    multilabel: bool | None = None

    @classmethod
    def of(cls, labels: Sequence[str], probabilities: Floats, *, multilabel: bool | None = None) -> Self:
        """Return the prediction for probabilities `(k,)` of k labels; of equally probable classes the first wins."""
        index = int(np.argmax(probabilities))
        by_label = _by_name(labels, probabilities)
        return cls(labels[index], index, float(probabilities[index]), by_label, multilabel=multilabel)

    @classmethod
    def of_values(cls, names: Sequence[str], values: Floats, *, ranked: bool = False) -> Self:
        """Return the prediction of k named values `(k,)`; of `ranked` ones, the scores of classes, the largest."""
        index = int(np.argmax(values)) if ranked else 0
        return cls(names[index], index, None, {}, _by_name(names, values))

    @property
    def ranked(self) -> tuple[int, ...]:
        """Indices of the classes, the most probable first; of values, the predicted one, then the others in order."""
        if self.values:
            return (self.index, *(index for index in range(len(self.values)) if index != self.index))
        return tuple(np.argsort(np.negative(list(self.probabilities.values())), kind="stable").tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the k classes or values."""
        return tuple(self.probabilities or self.values)


def _by_name(names: Sequence[str], numbers: Floats) -> dict[str, float]:
    return dict(zip(names, numbers.tolist(), strict=True))
