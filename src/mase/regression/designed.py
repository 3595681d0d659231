"""The designed regression: rows of a design, answered by the model and solved by an estimator."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.attribution import Note
from mase.errors import OptionError
from mase.regression.covariance import no_scatter
from mase.regression.diagnostics import adjusted_r2, coefficients, condition, remarks, split_half
from mase.regression.oracle import Oracle
from mase.regression.problem import Design, Distribution, Estimate, Estimator, Problem, Sample
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["Regression"]


@dataclass(frozen=True, slots=True)
class _Answers:
    """The first n rows of a sample, answered and solved."""

    sample: Sample
    responses: Floats
    problem: Problem
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Regression:
    """Draw rows of a design, ask, solve, judge: the strategy of every method that is one regression.

    Parameters
    ----------
    design
        Where to ask; it may ask in rounds, the later ones where the answers to the earlier ones point.
    estimator
        How to solve for the coefficients.
    """

    design: Design
    estimator: Estimator
    needs_reference: ClassVar[bool] = True
    stops_early: ClassVar[bool] = True

    @property
    def needs_gradients(self) -> bool:
        """Whether the estimator works on gradients."""
        return self.estimator.needs_gradients

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return what the estimator makes of at most `budget` rows.

        Raises
        ------
        CapabilityError
            If the estimator needs gradients and the model gives none.
        OptionError
            If design, estimator and space do not suit each other.
        """
        distribution = self.design.distribution(oracle.scale)
        sample = self.design.draw(rng, self._round_size(budget), distribution)
        self._check_suits(oracle, sample)
        return self._judged(oracle, self._asked(oracle, distribution, sample, budget, stopping, rng), budget, stopping)

    def _asked(
        self,
        oracle: Oracle,
        distribution: Distribution,
        sample: Sample,
        cap: int,
        stopping: Stopping,
        rng: np.random.Generator,
    ) -> _Answers:
        """Return the answers to as many rows as the stopping rule wants, all of them by default, round by round."""
        if self.design.rounds == 1:
            cap = len(sample.coordinates)
        base = self._base(oracle, sample)
        responses, slopes, gamma = np.empty(0), np.empty((0, oracle.size)), np.empty(0)
        solved: tuple[Problem, Estimate] | None = None
        while True:
            goal = min(stopping.goal(sample, cap, solved), len(responses) + self._round_size(cap))
            missing = goal - len(sample.coordinates)
            if missing > 0:
                sample = sample.joined(self.design.draw(rng, missing, distribution, gamma))
            rows = sample.coordinates[len(responses) : goal]
            if self.needs_gradients:
                more, gradients = oracle.gradients(rows)
                slopes = np.concatenate([slopes, gradients])
            else:
                more = oracle.responses(rows)
            responses = np.concatenate([responses, more])
            head = sample.head(goal)
            problem = head.problem(responses, base, slopes if self.needs_gradients else None)
            if goal < cap and stopping.never:  # nobody asks how certain the coefficients are
                gamma = coefficients(self.estimator, problem)
                continue
            estimate = self._fitted(problem, sample)
            if goal == cap or stopping.enough(estimate):
                return _Answers(head, responses, problem, estimate)
            solved, gamma = (problem, estimate), estimate.gamma

    def _fitted(self, problem: Problem, sample: Sample) -> Estimate:
        """Return the estimate, without sampling error where nothing was drawn."""
        estimate = self.estimator.fit(problem)
        return replace(estimate, covariance=no_scatter(problem.p)) if sample.exhaustive else estimate

    def _judged(self, oracle: Oracle, answers: _Answers, cap: int, stopping: Stopping) -> Solution:
        """Return the solution with its fit, and the notes that follow from it."""
        sample, estimate, n = answers.sample, answers.estimate, len(answers.responses)
        r2 = adjusted_r2(sample, answers.responses, estimate)
        halves = None if sample.exhaustive else split_half(answers.problem, self.estimator, estimate.gamma)
        notes = (
            *remarks(
                sample=sample,
                responses=answers.responses,
                text=oracle.text,
                probability=oracle.probability,
                link=oracle.link,
                r2=r2,
                halves=halves,
                estimate=estimate,
                binary=oracle.binary,
                gradients=self.needs_gradients,
            ),
            *stopping.remarks(estimate),
            *self._unfocused(n, cap),
            *oracle.notes,
        )
        return Solution(
            estimate,
            oracle.text,
            replace(oracle.cost),
            notes,
            oracle.precision,
            problem=answers.problem,
            r2=r2,
            split_half=halves,
            condition=condition(answers.problem),
        )

    def _round_size(self, n: int) -> int:
        """Return the number of rows of one of the rounds that n rows are split into."""
        return -(-n // self.design.rounds)

    def _unfocused(self, n: int, cap: int) -> Iterator[Note]:
        """Yield a note if a design of several rounds was stopped before its last one."""
        rounds = self.design.rounds
        if rounds > 1 and n < cap and -(-n // self._round_size(cap)) < rounds:
            done = f"stopped after {n / cap * rounds:.1f} of {rounds} rounds"
            message = "the later ones look behind the words found so far, and may rank others higher"
            yield Note("early", f"{done}: {message}; a smaller tolerance asks more of them")

    def _base(self, oracle: Oracle, sample: Sample) -> float | None:
        """Return the response at the centre of the distribution, None where the estimator does not need it."""
        if sample.center == 1.0:
            return oracle.text
        if sample.center is None or sample.paired or not self.estimator.needs_base:
            return None
        return oracle.response_at(sample.center)

    def _check_suits(self, oracle: Oracle, sample: Sample) -> None:
        """Check that space, design and estimator can work together."""
        if oracle.binary and (self.needs_gradients or not np.isin(sample.coordinates, (0.0, 1.0)).all()):
            raise OptionError(
                f"method {oracle.method!r} takes words out whole, expected a design of zeros and ones, and no gradients; "
                "use design='bernoulli', or space='token-scale'"
            )
        uneven = not sample.exhaustive and np.ptp(sample.weights) > 0
        if self.estimator.needs_base and (self.design.rounds > 1 or uneven):
            raise OptionError(
                f"method {oracle.method!r} draws rows of several distributions or weights, expected an estimator that "
                "regresses: a moment of one distribution would be biased; use estimator='least-squares'"
            )
        if not self.needs_gradients and not sample.deviations.any():
            raise OptionError(
                f"method {oracle.method!r} has rows that do not deviate from their centre, expected an estimator that "
                "works on gradients; use estimator='mean-gradient', or design='path'"
            )
