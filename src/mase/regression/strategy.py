"""The `Strategy` protocol: evaluate an `Oracle` and return a `Solution`."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mase.arrays import Floats
from mase.attribution import Interaction, Note
from mase.regression.cost import Cost
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.precision import Precision
from mase.regression.problem import Problem, Sample
from mase.regression.stopping import Stopping

__all__ = ["Answered", "Solution", "Strategy"]

# A procedure that averages changes, such as Partition SHAP, may find that they cancel.
_CONSTANT = (
    "no perturbation of this method changed the model's response, or the changes cancel: all scores are 0; "
    "method='mase' tells one from the other"
)


@dataclass(frozen=True, slots=True)
class Answered:
    """The rows of a regression and the model's answers, from which it can be solved for every class.

    Attributes
    ----------
    sample
        The n rows.
    scores
        Class scores of the rows `(n, k)`.
    base
        Class scores at the centre of the rows `(1, k)`; None if the estimator does not need them.
    """

    sample: Sample
    scores: Floats
    base: Floats | None


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of a strategy.

    Attributes
    ----------
    estimate
        Coefficients of the active coordinates `(p,)` with their covariance.
    response
        The response at the text, which the coefficients explain.
    cost
        Counts of model evaluations.
    notes
        Notes for the reader of the scores.
    precision
        The precision in which the model was evaluated.
    signed
        Whether coefficients have a sign. Unsigned coefficients measure how much a word matters, but not whether it
        increases or decreases the response.
    exact
        Whether every row that there is was asked, so that more samples would give the same coefficients.
    problem
        The regression that was solved; None for a procedure.
    r2, r2_held_out, split_half, condition
        Quality of the fit (see `mase.regression.diagnostics` and `held_out`); None if it is unknown.
    interactions
        The pairs of coordinates that matter together, strongest first (see `mase.regression.interactions`).
    answered
        The rows and answers of a regression without gradients, from which other classes are to be solved; None for
        anything else.
    others
        The solutions for further responses.
    leads
        Whether the rows were chosen for this response, and `others` were solved from them.
    """

    estimate: Estimate
    response: float
    cost: Cost
    notes: tuple[Note, ...] = ()
    precision: Precision = "float32"
    signed: bool = True
    exact: bool = False
    problem: Problem | None = None
    r2: float | None = None
    r2_held_out: float | None = None
    split_half: float | None = None
    condition: float | None = None
    interactions: tuple[Interaction, ...] = ()
    answered: Answered | None = None
    others: tuple["Solution", ...] = ()
    leads: bool = False

    @classmethod
    def of(cls, oracle: Oracle, estimate: Estimate, *, signed: bool = True) -> "Solution":
        """Return the solution of a strategy that is not a regression, with the notes that follow from its estimate."""
        notes = []
        if estimate.fallback is not None:
            notes.append(Note("fallback", estimate.fallback))
        elif not estimate.gamma.any():
            notes.append(Note("constant", _CONSTANT))
        if not signed:
            message = "scores have no sign: they show how much a word matters, not whether it supports the class"
            notes.append(Note("unsigned", message))
        return cls(estimate, oracle.text, replace(oracle.cost), (*notes, *oracle.notes), oracle.precision, signed)

    def noted(self, note: Note) -> "Solution":
        """Return the solution with a note at the beginning of its notes and of those of the others."""
        others = tuple(other.noted(note) for other in self.others)
        return replace(self, notes=(note, *self.notes), others=others)


class Strategy(Protocol):
    """A procedure that evaluates an oracle and returns coefficients; later evaluations may depend on earlier responses.

    `mase.regression.designed.Regression` is one strategy: a design draws the rows and an estimator solves for the
    coefficients. All other strategies are called procedures and choose their evaluations themselves.

    Attributes
    ----------
    needs_gradients
        Whether it needs the gradients of the model (white box).
    needs_reference
        Whether it compares with the reference of the space. If so, words that equal the reference score exactly 0 and
        are not evaluated. Otherwise all words are evaluated.
    stops_early
        Whether it supports a stopping rule.
    """

    @property
    def needs_gradients(self) -> bool:
        """Whether it needs the gradients of the model."""
        ...

    @property
    def needs_reference(self) -> bool:
        """Whether it compares with the reference."""
        ...

    @property
    def stops_early(self) -> bool:
        """Whether it supports a stopping rule."""
        ...

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with its covariance, from at most `budget` evaluations.

        The covariance is over repetitions with other random numbers. It is zero if nothing is random, and NaN if gamma
        estimates nothing.
        """
        ...
