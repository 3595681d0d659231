"""Design and Estimator, two base classes with defaults; rounds."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from mase.arrays import Floats
from mase.solve.distributions import Aim, Laws, Mixture
from mase.solve.problem import Distribution, Estimate, Problem, Sample


class Design(Protocol):
    """The sampling scheme: draws n points in one or several rounds.

    The rows of all rounds form one regression about the centre of the distribution.
    """

    @property
    def rounds(self) -> int:
        """Number of rounds, whose sizes are in `mase.solve.parts`; 1 if no row depends on responses."""
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


@runtime_checkable
class UnevenDesign(Design, Protocol):
    """A design whose rounds differ in size.

    Attributes
    ----------
    shares
        The share of the rows of each round, in order.
    """

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each round."""
        ...


def shares(design: Design) -> tuple[float, ...]:
    """Return the share of the rows of each round."""
    return design.shares if isinstance(design, UnevenDesign) else (1 / design.rounds,) * design.rounds


def ends(design: Design, n: int) -> list[int]:
    """Return the number of rows at the end of each round when n rows are split into rounds."""
    if isinstance(design, UnevenDesign):
        return [math.ceil(n * share) for share in accumulate(design.shares)]
    size = -(-n // design.rounds)
    return [size * done for done in range(1, design.rounds + 1)]


def cycle(design: Design, done: int, goal: int) -> list[int]:
    """Return the number of rows at the end of each round when all rounds are asked once more, from `done` to `goal`.

    A goal of few more rows may have fewer rounds.
    """
    return sorted({done + min(end, goal - done) for end in ends(design, goal - done)})


class Estimator(Protocol):
    """Solves a problem for its coefficients.

    Attributes
    ----------
    needs_base
        Whether it subtracts the response at the centre (Theorem 1), which is then evaluated as well.
    needs_gradients
        Whether it uses gradients instead of responses (white box).
    """

    needs_base: ClassVar[bool]
    needs_gradients: ClassVar[bool]

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its covariance."""
        ...


@runtime_checkable
class Solver(Protocol):
    """An estimator that can compute the coefficients more cheaply without their covariance."""

    def solve(self, problem: Problem) -> Floats:
        """Return the same gamma `(p,)` as `fit`."""
        ...


@runtime_checkable
class Planner(Protocol):
    """An estimator with a cheaper one of the same coefficients, by which a design chooses its next rows."""

    def rough(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its covariance."""
        ...


@runtime_checkable
class Aimer(Protocol):
    """An estimator whose scores stand for the laws that a design aims at, whichever rows were drawn.

    Attributes
    ----------
    aims
        Whether they do.
    """

    aims: ClassVar[bool]
