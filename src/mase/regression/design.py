"""The protocols of designs, which draw the rows of a regression."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from mase.arrays import Floats
from mase.regression.laws import Aim, Laws, Mixture
from mase.regression.problem import Distribution, Sample

__all__ = ["AimedDesign", "Design", "DrawingDesign", "ExhaustiveDesign"]


class Design(Protocol):
    """The sampling scheme: draws n points in one or several rounds.

    The rows of all rounds form one regression about the centre of the distribution.
    """

    @property
    def rounds(self) -> int:
        """Number of rounds, whose sizes are in `mase.regression.rounds`; 1 if no row depends on responses."""
        ...

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of the rows.

        `scale` holds the standard deviations of the coordinates per unit of sigma. Coordinates with scale 0 have no
        effect and get no column, so p is the number of the others.
        """
        ...

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return a sample of at most n rows from the distribution.

        After the first round, `gamma` `(p,)` holds the coefficients estimated from all rows so far. A `DrawingDesign`
        gets draws of them `(d, p)`.
        """
        ...


@runtime_checkable
class DrawingDesign(Design, Protocol):
    """A design in rounds that goes by draws of the coefficients so far from their distribution.

    Attributes
    ----------
    n_draws
        Number of draws; 0 for the coefficients themselves.
    """

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        ...


@runtime_checkable
class ExhaustiveDesign(Design, Protocol):
    """A design of zeros and ones that knows the sample to which its samples converge as n grows."""

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all 2^p rows, each weighted by its probability in `draw` times its weight in a sample.

        The rows and the sum of the weights are the same for every `gamma`, so that rounds can be mixed.
        """
        ...


@runtime_checkable
class AimedDesign(ExhaustiveDesign, Protocol):
    """A design whose samples have an aim: scores stand for laws that follow from them, whichever rows are drawn.

    Attributes
    ----------
    further
        The aims of further effects of the coordinates, by name.
    """

    @property
    def further(self) -> Mapping[str, Aim]:
        """The aims of further effects, by name."""
        ...

    def aim(self, gamma: Floats) -> Sequence[Mixture]:
        """Return the mixture of laws that each of w scores `(w, p)` stands for."""
        ...

    def every(self, distribution: Distribution, laws: Laws) -> Sample:
        """Return all 2^p rows, each weighted by its probability under laws that each have a share of a row."""
        ...
