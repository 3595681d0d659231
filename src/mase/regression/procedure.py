"""Explainers that are no single regression: a `Procedure` asks an `Oracle` what it wants, in as many rounds as it wants."""

from typing import ClassVar, Protocol

import numpy as np

from mase.arrays import Floats, Ints
from mase.regression.problem import Estimate

__all__ = ["Oracle", "Procedure"]


class Oracle(Protocol):
    """One text, one model and one target: coordinates of the p words that move in, explained responses out.

    Every question is asked in micro-batches, halved when memory runs out, checked to be finite, and counted.
    """

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        ...

    @property
    def text(self) -> float:
        """Response at the text itself, all coordinates 1; it was asked when the text was bound and costs nothing."""
        ...

    def responses(self, coordinates: Floats) -> Floats:
        """Return the responses `(n,)` at coordinates `(n, p)`: 1 is a word of the text, 0 its reference."""
        ...

    def derivatives(self, coordinates: Floats) -> Floats:
        """Return the derivatives `(n, p)` of the response by the coordinates, at coordinates `(n, p)`.

        Raises
        ------
        CapabilityError
            If the model gives none.
        """
        ...

    def gradient_norms(self, coordinates: Floats) -> Floats:
        """Return for each word the Euclidean norm `(n, p)` of the response's gradient by all entries of its vectors.

        Raises
        ------
        CapabilityError
            If the model gives none.
        """
        ...

    def exchanged(self, sources: Ints) -> Floats:
        """Return the responses `(n,)` where word i stands with the content of word `sources[:, i]`, for sources `(n, p)`.

        Raises
        ------
        CapabilityError
            If the model cannot exchange words.
        """
        ...

    def contributions(self) -> Floats:
        """Return the DeepLIFT contributions `(p,)` of the words to response minus response at the reference.

        Raises
        ------
        CapabilityError
            If the model's layers have no such rules.
        """
        ...


class Procedure(Protocol):
    """A rule that asks as it goes along and answers with coefficients; later questions may depend on earlier answers.

    Attributes
    ----------
    needs_gradients
        Whether it is a white box.
    needs_reference
        Whether it compares with the reference of the space. Words that equal it then score exactly 0 and are not asked
        about; otherwise all words count.

    One whose scores are never negative, whatever a word speaks for, says so by an attribute `signed` that is False.
    """

    needs_gradients: ClassVar[bool]
    needs_reference: ClassVar[bool]

    def run(self, oracle: Oracle, n_samples: int, rng: np.random.Generator) -> Estimate:
        """Return gamma `(p,)` with its covariance, from at most `n_samples` questions.

        The covariance is that of a repetition with other random numbers: zero where nothing is drawn, NaN where gamma
        estimates nothing.
        """
        ...
