"""One way to solve: a `Strategy` asks an `Oracle` and answers with a `Solution`."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mase.attribution import Note
from mase.regression.cost import Cost
from mase.regression.oracle import Oracle
from mase.regression.precision import Precision
from mase.regression.problem import Estimate, Problem
from mase.regression.stopping import Stopping

__all__ = ["Solution", "Strategy"]


@dataclass(frozen=True, slots=True)
class Solution:
    """What a strategy found.

    Attributes
    ----------
    estimate
        Coefficients of the coordinates `(p,)` that were asked about, with their covariance.
    response
        The response at the text, which the coefficients explain.
    cost
        What was asked of the model.
    notes
        What a reader of the scores must know.
    precision
        The precision in which the model answered.
    signed
        Whether a coefficient has a sign: one that has none says how much a word matters, not what it speaks for.
    problem
        The regression that was solved; None for a procedure.
    r2, split_half, condition
        How well the coefficients describe the answers (see `mase.regression.diagnostics`); None where that is not known.
    """

    estimate: Estimate
    response: float
    cost: Cost
    notes: tuple[Note, ...] = ()
    precision: Precision = "float32"
    signed: bool = True
    problem: Problem | None = None
    r2: float | None = None
    split_half: float | None = None
    condition: float | None = None

    @classmethod
    def of(cls, oracle: Oracle, estimate: Estimate, *, signed: bool = True) -> "Solution":
        """Return the solution of a strategy that is no regression, with the notes that follow from its estimate."""
        notes = []
        if estimate.remark is not None:
            notes.append(Note("fallback", estimate.remark))
        elif not estimate.gamma.any():
            notes.append(Note("constant", "nothing that was asked changed the model's answer: all scores are 0"))
        if not signed:
            message = "scores are lengths: how much a word matters, not whether it speaks for the class"
            notes.append(Note("unsigned", message))
        return cls(estimate, oracle.text, replace(oracle.cost), (*notes, *oracle.notes), oracle.precision, signed)


class Strategy(Protocol):
    """A rule that asks an oracle and answers with coefficients; later questions may depend on earlier answers.

    `mase.regression.designed.Regression` is one: a design says where to ask, an estimator solves. The others, which are
    called procedures, ask as they see fit.

    Attributes
    ----------
    needs_gradients
        Whether it is a white box.
    needs_reference
        Whether it compares with the reference of the space. Words that equal it then score exactly 0 and are not asked
        about; otherwise all words count.
    stops_early
        Whether it can stop before its budget is spent, as soon as its scores are certain enough.
    """

    @property
    def needs_gradients(self) -> bool:
        """Whether it is a white box."""
        ...

    @property
    def needs_reference(self) -> bool:
        """Whether it compares with the reference."""
        ...

    @property
    def stops_early(self) -> bool:
        """Whether it follows a stopping rule."""
        ...

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with its covariance, from at most `budget` questions.

        The covariance is that of a repetition with other random numbers: zero where nothing is drawn, NaN where gamma
        estimates nothing.
        """
        ...
