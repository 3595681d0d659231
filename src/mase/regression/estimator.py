"""The protocols of estimators: from a `Problem` to an `Estimate`."""

from typing import ClassVar, Protocol, runtime_checkable

from mase.arrays import Floats
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["Aimer", "Estimator", "Planner", "Solver"]


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
