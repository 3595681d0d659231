"""A regression in rounds: draw, ask, fit, assess; several classes from the same rows."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats
from mase.attribution.response import Note
from mase.defaults import SAMPLES_RULE
from mase.errors import OptionError
from mase.registry import completed
from mase.solve.distributions import Mixture, TargetMixture, no_scatter, self_consistent
from mase.solve.kernel import one_thread
from mase.solve.oracle import Oracle
from mase.solve.problem import (
    Design,
    Distribution,
    Estimate,
    Estimator,
    Problem,
    Sample,
    cycle,
)
from mase.solve.quality import (
    adjusted_r2,
    condition,
    constant,
    held_out_r2,
    interactions,
    quality_notes,
    split_half,
)
from mase.solve.strategy import Answered, Solution, Stopping, Strategy


def check_compatible(oracle: Oracle, design: Design, estimator: Estimator, sample: Sample) -> None:
    """Check that the space, the design with the rows that it draws, and the estimator are compatible."""
    slopes = estimator.needs_gradients
    if oracle.binary and (slopes or not np.isin(sample.coordinates, (0.0, 1.0)).all()):
        raise OptionError(
            f"method {oracle.method!r} masks whole words, expected a design of zeros and ones and an estimator "
            "without gradients; use method='NAME+design=bernoulli', or a method that scales embeddings, such as "
            "'mase-nlgp'"
        )
    uneven = not sample.exhaustive and np.ptp(sample.weights) > 0
    mixed = sample.components is not None and np.ptp(sample.components.shares, axis=1).any()
    if estimator.needs_base and (design.rounds > 1 or uneven or mixed):
        raise OptionError(
            f"method {oracle.method!r} draws rows with unequal weights or from several distributions, for which a "
            "closed-form moment is biased, expected a regression; use method='NAME+estimator=least-squares'"
        )
    if not slopes and not sample.deviations.any():
        raise OptionError(
            f"method {oracle.method!r} has rows that do not deviate from their centre, expected an estimator that "
            "uses gradients; use method='NAME+estimator=mean-gradient' or 'NAME+design=path'"
        )
    n, p = len(sample.coordinates), oracle.size
    if sample.exhaustive and n <= p and not (slopes or estimator.needs_base or sample.n_exact):
        raise OptionError(
            f"method {oracle.method!r} has a design of {n} different rows, expected more than {p} for {p} scores and "
            "an intercept; use method='NAME+estimator=moment', which has the text as one more row, or "
            "method='NAME+design=bernoulli'"
        )


# Exact coefficients below this share of the largest response are rounding.
_ROUNDING = 1e-12

# Rankings are drawn with this part of the errors of the scores: with all of them, rows hardly go by the scores where
# many words are uncertain. Chosen on validation texts.
_WIDTH = 0.5


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The rows that were evaluated, with their responses `(n,)` and the estimate."""

    answered: Answered
    responses: Floats
    problem: Problem
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Regression(Strategy):
    """The strategy of every method that is a single regression.

    It draws rows, evaluates the model, solves for the coefficients and assesses the fit. Where all subsets of the words
    are not more than the rows that it would draw, it evaluates each of them once instead, and solves for the
    coefficients to which those of ever larger samples converge.

    Parameters
    ----------
    design
        Draws the rows. A design may work in rounds, in which later rows depend on earlier coefficients.
    estimator
        Solves for the coefficients.
    """

    design: Design
    estimator: Estimator
    stops_early = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", completed(self.design, Design))
        object.__setattr__(self, "estimator", completed(self.estimator, Estimator))

    @property
    def needs_gradients(self) -> bool:
        """Whether the estimator uses gradients."""
        return self.estimator.needs_gradients

    @property
    def _targets_mixture(self) -> bool:
        """Whether the scores stand for components that follow from them."""
        return self.estimator.uses_target_mixture and self.design.has_target_mixture

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the solution from at most `budget` rows.

        Raises
        ------
        CapabilityError
            If the estimator needs gradients and the model provides none.
        OptionError
            If the design, the estimator and the space are incompatible, or the rows cannot follow the stopping rule.
        """
        distribution = self.design.distribution(oracle.scale)
        if self.design.enumerates and oracle.known is not None:
            budget = min(budget, 2 ** (oracle.size + 1))  # all subsets are asked instead, however many rows there are
        at_first = min(budget, stopping.certain_place or budget)
        sample = self.design.draw(rng, self.design.ends(at_first)[0], distribution)
        check_compatible(oracle, self.design, self.estimator, sample)
        stopping.check(sample, oracle.method)
        sample = replace(sample, n_certain=0) if oracle.known is None else sample  # other draws get other answers
        return self._assessed(oracle, self._evaluated(oracle, distribution, sample, budget, stopping, rng), stopping)

    def solved_again(self, answered: Answered, oracle: Oracle, stopping: Stopping) -> Solution:
        """Return the solution for the class of another oracle from rows that were asked for one class.

        Nothing is evaluated. The estimator must not use gradients.
        """
        responses = oracle.respond(oracle.count_clipped(answered.scores))
        problem = answered.sample.problem(responses, self._at_base(oracle, answered.base))
        estimate = self._fit(oracle, answered.sample, responses, problem)
        return self._assessed(oracle, _Fitted(answered, responses, problem, estimate), stopping)

    def _evaluated(
        self,
        oracle: Oracle,
        distribution: Distribution,
        sample: Sample,
        cap: int,
        stopping: Stopping,
        rng: np.random.Generator,
    ) -> _Fitted:
        """Evaluate rows until the stopping rule is met or `cap` rows are reached, and fit them.

        Whenever the rule wants more rows, all rounds of the design are asked once more. So each has its share of the
        rows wherever the rule stops. Scores that stand for components that follow from them differ from those of many
        more rows by more than their errors as long as the rows are few. So no rule ends their run before it has the
        rows that a text gets by default. As soon as 2^p rows are wanted, evaluate all subsets of the words instead.
        """
        fewest = SAMPLES_RULE.samples(oracle.size) if self._targets_mixture else 0
        if self.design.rounds == 1:
            cap = len(sample.coordinates)
        else:
            sample = sample.head(cycle(self.design, 0, stopping.goal(sample, cap, None, fewest))[0])
        at_base = self._base(oracle, sample)
        base = self._at_base(oracle, at_base)
        scores, slopes = np.empty((0, oracle.start.shape[1])), np.empty((0, oracle.size))
        solved: tuple[Problem, Estimate] | None = None
        while True:
            wanted = stopping.goal(sample, cap, solved, fewest)
            if self.design.enumerates and oracle.known is not None and wanted >= 2**oracle.size:
                return self._exhausted(oracle, distribution, at_base)
            gamma = None
            for goal in cycle(self.design, len(scores), wanted):
                missing = goal - len(sample.coordinates)
                if missing > 0:
                    sample = sample.joined(self.design.draw(rng, missing, distribution, gamma))
                rows = sample.coordinates[len(scores) : goal]
                if self.needs_gradients:
                    more, gradients = oracle.gradients(rows)
                    slopes = np.concatenate([slopes, gradients])
                else:
                    more = oracle.scores(rows)
                scores = np.concatenate([scores, more])
                responses = oracle.respond(scores)
                head = sample.head(goal)
                problem = head.problem(responses, base, slopes if self.needs_gradients else None)
                if goal < wanted:
                    gamma = self._so_far(problem, rng)
                    self._tell(oracle, head, responses, problem)
            estimate = self._fit(oracle, sample, responses, problem)
            of_units = oracle.of_units(estimate)
            if wanted == cap or stopping.enough(of_units):
                return _Fitted(Answered(head, scores, at_base), responses, problem, estimate)
            solved = (problem, of_units)
            self._tell(oracle, head, responses, problem)

    def _exhausted(self, oracle: Oracle, distribution: Distribution, at_base: Floats | None) -> _Fitted:
        """Evaluate all rows and fit them; a design with several rounds gets the coefficients of each round exactly."""
        base = self._at_base(oracle, at_base)
        design = self.design
        sample = design.exhaustive(distribution)
        scores = oracle.scores(sample.coordinates)
        responses = oracle.respond(scores)
        if self._targets_mixture:
            fitted, *others = (
                self._exactly(oracle, target_mixture, distribution, scores)
                for target_mixture in (design.target_mixture, *design.other_effects.values())
            )
            other_effects = {name: other.estimate for name, other in zip(design.other_effects, others, strict=True)}
            return replace(fitted, estimate=replace(fitted.estimate, other_effects=other_effects))
        problem = sample.problem(responses, base)
        first, *later = design.shares
        sample = sample.scaled(first * design.rounds)
        for share in later:
            round_sample = design.exhaustive(distribution, one_thread(self.estimator.solve)(problem))
            sample = sample.mixed(round_sample.scaled(share * design.rounds))
            problem = sample.problem(responses, base)
        return _Fitted(
            Answered(sample, scores, at_base), responses, problem, self._fit(oracle, sample, responses, problem)
        )

    def _exactly(
        self, oracle: Oracle, target_mixture: TargetMixture, distribution: Distribution, scores: Floats
    ) -> _Fitted:
        """Fit all rows, whose class scores are known, under components that follow from the coefficients under them."""
        responses, rows = oracle.respond(scores), self.design.exhaustive(distribution).coordinates

        def scores_under(mixture: Mixture) -> Floats:
            return np.asarray(responses @ mixture.row_weights(rows))

        (first,) = target_mixture(np.zeros((1, oracle.size)))
        result = self_consistent(first, lambda gamma: target_mixture(gamma[None])[0], scores_under)
        sample, row_weights = self.design.every(distribution, result.components), result.row_weights(rows)
        exact = Estimate(
            responses @ row_weights, no_scatter(oracle.size), oracle.size, of_noise=row_weights.T @ row_weights
        )
        exact = self._without_rounding(oracle, sample, responses, exact)
        return _Fitted(Answered(sample, scores, None), responses, sample.problem(responses, None), exact)

    @one_thread
    def _so_far(self, problem: Problem, rng: np.random.Generator) -> Floats:
        """Return the coefficients `(p,)`, or d draws of them `(d, p)`."""
        if self.design.n_draws is None:
            return self.estimator.solve(problem)
        rough = self.estimator.rough(problem)
        return rough.draws(rng, self.design.n_draws, _WIDTH) if self.design.n_draws else rough.gamma

    def _tell(self, oracle: Oracle, sample: Sample, responses: Floats, problem: Problem) -> None:
        """Offer the solution so far, if somebody follows; it is computed if it is wanted."""
        if oracle.solved is not None:
            cost, notes = replace(oracle.cost), oracle.notes

            def so_far() -> Solution:
                estimate = self._fit(oracle, sample, responses, problem)
                r2 = adjusted_r2(sample, responses, estimate)
                return Solution(estimate, oracle.text, cost, notes, oracle.precision, r2=r2)

            oracle.solved(so_far)

    @one_thread
    def _fit(self, oracle: Oracle, sample: Sample, responses: Floats, problem: Problem) -> Estimate:
        """Return the estimate: zeros if no response differs, and no sampling error if the sample is exhaustive."""
        estimate = self.estimator.fit(problem)
        if not isinstance(estimate, Estimate):
            raise _wrong_type(self.estimator, "fit", estimate, "an Estimate")
        estimate.check(problem.p)
        return self._without_rounding(oracle, sample, responses, estimate)

    def _without_rounding(self, oracle: Oracle, sample: Sample, responses: Floats, estimate: Estimate) -> Estimate:
        """Return an estimate with zeros, and no errors, where there is nothing but rounding."""
        nothing = no_scatter(len(estimate.gamma))
        if constant(responses, oracle.text, estimate, gradients=self.needs_gradients) is not None:
            return estimate.every(lambda item: replace(item, gamma=np.zeros(len(item.gamma)), covariance=nothing))
        if not sample.exhaustive:
            return estimate
        # Without a standard error, rounding would be a significant score.
        rounding = _ROUNDING * float(np.abs(responses).max())
        gamma = np.where(np.abs(estimate.gamma) <= rounding, 0.0, estimate.gamma)
        return replace(estimate, gamma=gamma, covariance=nothing)

    @one_thread
    def _assessed(self, oracle: Oracle, fitted: _Fitted, stopping: Stopping) -> Solution:
        """Return the solution with the quality of its fit and the notes that follow from it."""
        sample, estimate, responses = fitted.answered.sample, fitted.estimate, fitted.responses
        own_weights = sample.exhaustive and self.design.rounds > 1  # rounds weight all rows anew for each class
        r2 = adjusted_r2(sample, responses, estimate)
        held_out = None if r2 is None else held_out_r2(sample, responses, fitted.problem, self.estimator, estimate)
        halves = None if sample.exhaustive else split_half(fitted.problem, self.estimator, estimate.gamma)
        quality = quality_notes(
            oracle,
            sample,
            responses,
            estimate,
            stopping,
            r2,
            held_out,
            halves,
            fitted.answered.scores,
            gradients=self.needs_gradients,
        )
        notes = (*quality, *(() if sample.exhaustive else stopping.notes(oracle.of_units(estimate))), *oracle.notes)
        return Solution(
            estimate,
            oracle.text,
            replace(oracle.cost),
            notes,
            oracle.precision,
            exact=sample.exhaustive and not self.needs_gradients and estimate.fallback is None,
            problem=fitted.problem,
            r2=r2,
            r2_held_out=held_out,
            split_half=halves,
            condition=condition(fitted.problem),
            interactions=() if r2 is None else interactions(sample, fitted.responses, estimate.gamma),
            answered=None if self.needs_gradients or own_weights else fitted.answered,
        )

    def _base(self, oracle: Oracle, sample: Sample) -> Floats | None:
        """Return the class scores `(1, k)` at the centre of the distribution; None if the estimator needs none."""
        if sample.center == 1.0:
            return oracle.start
        if sample.center is None or sample.paired or not self.estimator.needs_base:
            return None
        return oracle.scores_at(sample.center)

    def _at_base(self, oracle: Oracle, scores: Floats | None) -> float | None:
        """Return the response at the centre of the distribution."""
        return None if scores is None else float(oracle.respond(scores)[0])


def together(
    oracle: Oracle,
    strategy: Strategy,
    others: Sequence[int],
    budget: int,
    rng: np.random.Generator,
    stopping: Stopping,
) -> Solution:
    """Run a strategy for the class of the oracle, the leading one, and then solve for the classes `others`.

    A regression without gradients is solved again: the class scores of its rows are turned into the responses of
    another class, to which the same estimator is fitted. Any other strategy is run again, and so is an adaptive one
    that has asked all rows there are. What was asked before costs nothing; if more is asked, as by a procedure that
    chooses its rows, a note says so.

    What is drawn begins with the same random numbers for each class, and in each call.
    """
    first = _run(strategy, oracle, budget, deepcopy(rng), stopping)
    if not others:
        return first
    n_asked, n_clipped, solutions = oracle.cost.n_queries, oracle.cost.n_clipped, []
    for target in others:
        other = replace(oracle, target=target, n_rows=0, solved=None)
        oracle.cost.n_clipped = 0  # which rows are clipped depends on the class
        is_adaptive = isinstance(strategy, Regression) and first.exact
        again = None
        if first.answered is not None and not is_adaptive:
            again = strategy.solved_again(first.answered, other, stopping)
        solutions.append(again or _run(strategy, other, budget, deepcopy(rng), stopping))
    oracle.cost.n_clipped = n_clipped
    result = replace(first, cost=replace(oracle.cost), others=tuple(solutions))
    if oracle.cost.n_queries > n_asked:
        return result.noted(_note(oracle.method))
    adapts = not stopping.never or (isinstance(strategy, Regression) and strategy.design.rounds > 1)
    return replace(result, leads=adapts and first.answered is not None and not first.exact)


def _note(method: str) -> Note:
    message = (
        f"method {method!r} cannot solve for several classes from the same evaluations, so each class was explained on "
        "its own and has evaluations of its own"
    )
    return Note("separately", message)


def _run(strategy: Strategy, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
    """Return what the strategy solves for, whose type is checked."""
    solution = strategy.run(oracle, budget, rng, stopping)
    if not isinstance(solution, Solution):
        raise _wrong_type(strategy, "run", solution, "a Solution, as Solution.of(oracle, estimate) makes one")
    return solution


def _wrong_type(part: object, method: str, returned: object, expected: str) -> OptionError:
    """Return the error for a part of a user that returns something else."""
    return OptionError(
        f"{type(part).__name__}.{method} returned a value of type {type(returned).__name__}, expected {expected}"
    )
