"""What a method does with an oracle: strategies, solutions, stopping rules, and solving again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from mase.arrays import Floats
from mase.attribution.evidence import certain_places
from mase.attribution.response import Interaction, Note
from mase.defaults import CONFIDENCE, Precision, check_integer, is_real
from mase.errors import OptionError
from mase.models.batching import ask
from mase.solve.determinism import REPRODUCED, RESPONSE_ROUNDING, Consistency, Cost, Repeats, note
from mase.solve.distributions import MOST_CORRELATED, no_scatter
from mase.solve.oracle import Oracle
from mase.solve.problem import Estimate, Problem, Sample

# Growth of the number of rows per round. Early estimates of the noise are rough, so growth is bounded.
_LARGEST_GROWTH, _SMALLEST_GROWTH = 2.0, 1.1


@dataclass(frozen=True, slots=True)
class Stopping:
    """A stopping rule.

    If both conditions are given, both must hold. If none is given, all rows are evaluated. The default method does not
    stop before it has as many rows as `n_samples="auto"` gives a text without a rule.

    Parameters
    ----------
    tolerance
        Stop when the relative standard error is at most this: the root of the summed squared standard errors, divided
        by the norm of the scores.
    stable_top
        Stop when the set of the k highest scores is certain: every score in the set exceeds every other score by more
        than the joint (Bonferroni) normal bound on their difference.
    confidence
        Confidence level of `stable_top`.
    certain_place
        Stop after so many rows if a place is certain (`mase.attribution.evidence`), else ask all rows; 0 for no such
        rule. This is no rule of a user: models that cost little are asked on by it where no place is certain.
    """

    tolerance: float | None = None
    stable_top: int | None = None
    confidence: float = CONFIDENCE
    certain_place: int = 0

    def __post_init__(self) -> None:
        if self.tolerance is not None and not (is_real(self.tolerance) and 0 < self.tolerance < np.inf):
            raise OptionError(f"tolerance is {self.tolerance!r}, expected a number > 0, for example 0.1")
        if self.stable_top is not None:
            check_integer("stable_top", self.stable_top, 1)
        if not (is_real(self.confidence) and 0.5 <= self.confidence < 1):
            raise OptionError(f"confidence is {self.confidence!r}, expected a number from 0.5 to below 1")

    @property
    def never(self) -> bool:
        """Whether all rows are evaluated."""
        return not (self.ruled or self.certain_place)

    @property
    def ruled(self) -> bool:
        """Whether there is a rule of a user."""
        return self.tolerance is not None or self.stable_top is not None

    def enough(self, estimate: Estimate) -> bool:
        """Return whether the estimate is certain enough; one without errors or from a fallback estimator never is."""
        if self.never or estimate.fallback is not None or _unknown(estimate):
            return False
        if self.certain_place:
            return certain_places(estimate.gamma, np.sqrt(np.maximum(estimate.variances, 0.0))) > 0
        precise = self.tolerance is None or relative_error(estimate) <= self.tolerance
        stable = self.stable_top is None or top_margin(estimate, self.stable_top, self.confidence) >= 1
        return precise and stable

    def check(self, sample: Sample, method: str) -> None:
        """Check that rows can be asked a few at a time, or are all rows that there are.

        Raises
        ------
        OptionError
            If they cannot, and there is a rule.
        """
        if not (self.never or sample.divisible or sample.exhaustive):
            raise self.unsupported(method)

    def unsupported(self, method: str) -> OptionError:
        """Return the error for a method that supports no stopping rule."""
        given = {"tolerance": self.tolerance, "stable_top": self.stable_top}
        rules = " and ".join(name for name, value in given.items() if value is not None)
        return OptionError(
            f"{rules} given for the method {method!r}, which does not support stopping rules, expected none, or "
            "method='mase'"
        )

    def goal(self, sample: Sample, cap: int, solved: tuple[Problem, Estimate] | None, fewest: int = 0) -> int:
        """Return the total number of rows when the rule is asked next, at most `cap`.

        First that is as soon as least squares has as many rows as it should (see the note `few-samples`), or after
        `fewest` rows. Then the error is extrapolated, which falls like 1 / sqrt(n - p). Without errors, all rows
        follow at once.
        """
        step = 2 if sample.paired else 1
        if self.never or not sample.divisible:
            return cap
        if solved is None and self.certain_place:
            return min(cap, self.certain_place)
        if solved is None:
            return min(cap, max(fewest, 2 * step * (int(sample.coordinates.shape[1]) + 3)))
        problem, estimate = solved
        if _unknown(estimate) or self.certain_place:
            return cap
        residual_dof = max(problem.n - problem.p - problem.n_intercepts, 2)
        needed = problem.p + problem.n_intercepts + residual_dof * self._excess(estimate) ** 2
        rows = int(np.ceil(np.clip(needed, _SMALLEST_GROWTH * problem.n, _LARGEST_GROWTH * problem.n)))
        return min(cap, step * rows)

    def _excess(self, estimate: Estimate) -> float:
        """Return the factor by which the error is too large."""
        factors = [1.0]
        if self.tolerance is not None:
            factors.append(relative_error(estimate) / self.tolerance)
        if self.stable_top is not None:
            factors.append(1 / max(top_margin(estimate, self.stable_top, self.confidence), 1e-3))
        return max(factors)

    def notes(self, estimate: Estimate) -> Iterator[Note]:
        """Yield the notes for a budget that was spent before the rule was met."""
        if not self.ruled or self.enough(estimate):
            return
        if _unknown(estimate):
            code, rule = ("top-unstable", "stable_top") if self.tolerance is None else ("tolerance-missed", "tolerance")
            yield Note(code, f"these scores have no standard errors, so {rule} has no effect; use another method")
            return
        # Where all responses are the same there is the note `constant`, which says more.
        constant = not estimate.gamma.any() and not estimate.variances.any()
        if self.tolerance is not None and relative_error(estimate) > self.tolerance and not constant:
            yield Note(
                "tolerance-missed",
                f"the relative standard error is {relative_error(estimate):.3g}, above the tolerance of "
                f"{self.tolerance:.3g}; use a larger n_samples",
            )
        if self.stable_top is not None and top_margin(estimate, self.stable_top, self.confidence) < 1:
            yield Note(
                "top-unstable",
                f"the top {self.stable_top} by score {'is' if self.stable_top == 1 else 'are'} not certain at "
                f"{self.confidence:.0%} confidence; use a larger n_samples",
            )


NEVER = Stopping()


def _unknown(estimate: Estimate) -> bool:
    """Return whether the scores have no standard errors, so that no rule is ever met."""
    return bool(np.isnan(estimate.variances).any())


def relative_error(estimate: Estimate) -> float:
    """Return sqrt(sum of squared standard errors) / |gamma|; infinite if gamma is 0.

    Rows with equal responses say nothing of how much others would differ, so scores of 0 are never certain.
    """
    norm = float(np.linalg.norm(estimate.gamma))
    return float(np.sqrt(estimate.variances.sum())) / norm if norm else np.inf


def top_margin(estimate: Estimate, k: int, confidence: float) -> float:
    """Return the smallest gap between the k highest scores and the others, in units of the joint bound.

    A value of at least 1 means that the set of the k highest scores is certain.
    """
    p = len(estimate.gamma)
    if k >= p:
        return np.inf
    order = np.argsort(-estimate.gamma, kind="stable")
    inside, outside = order[:k], order[k:]
    gaps = estimate.gamma[inside][:, None] - estimate.gamma[outside]
    variances = estimate.variances
    spread = variances[inside][:, None] + variances[outside] - 2 * estimate.covariances(inside, outside)
    bound = ndtri(1 - (1 - confidence) / (k * (p - k)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = gaps / (np.sqrt(np.maximum(spread, 0)) * bound)
    return float(np.nan_to_num(ratios, nan=0.0, posinf=np.inf).min())


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
        Quality of the fit (see `mase.solve.quality` and `held_out`); None if it is unknown.
    interactions
        The pairs of coordinates that matter together, strongest first (see `mase.solve.quality`).
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


class Strategy:
    """Evaluates an oracle and returns coefficients; later evaluations may depend on earlier responses.

    `mase.solve.regression.Regression` is one strategy: a design draws the rows and an estimator solves for the
    coefficients. All other strategies are called procedures and choose their evaluations themselves. A subclass has
    `run`.
    """

    __slots__ = ()

    @property
    def needs_gradients(self) -> bool:
        """Whether it needs the gradients of the model (white box)."""
        return False

    @property
    def needs_reference(self) -> bool:
        """Whether it compares with the reference of the space.

        If so, words that equal the reference score exactly 0 and are not evaluated. Otherwise all words are evaluated.
        """
        return True

    @property
    def stops_early(self) -> bool:
        """Whether it supports a stopping rule."""
        return False

    @property
    def ranks(self) -> bool:
        """Whether the coefficients are places in an order, which cannot be added up."""
        return False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with its covariance, from at most `budget` evaluations.

        The covariance is over repetitions with other random numbers. It is zero if nothing is random, and NaN if gamma
        estimates nothing.
        """
        raise NotImplementedError

    def solved_again(self, answered: Answered, oracle: Oracle, stopping: Stopping) -> Solution | None:
        """Return the solution for the class of another oracle from the rows of one; None if it cannot be had.

        Nothing is evaluated.
        """
        return None


# Bounds on the number of repetitions of an explanation without sampling error.
_MIN_RUNS, _MAX_RUNS = 5, 10

# Number of known rows that are asked again of a model of which it is not known whether its answers vary.
_MOST_AGAIN = 32

# Number of rows that show how much a model rounds.
_MOST_ROUNDED = 8


def repeated(solve: Callable[[Oracle], Solution], oracle: Oracle, budget: int, others: Sequence[int] = ()) -> Solution:
    """Return the solution of an oracle, solved again and with a note if the model's responses to one text differ.

    A model whose rows depend on each other is evaluated one row at a time. A model that is not deterministic is asked
    again for a row whenever the row is drawn, so that the errors of a regression include the model's noise. If the
    estimate still has no sampling error, as in occlusion, the explanation is repeated within the budget of evaluations,
    at least five times. Its standard errors then describe the model's noise. A model that rounds a little is not asked
    again: its rounding is in the residuals of a regression. A few rows show it for scores without sampling error. Of a
    function, some rows are asked again before scores are said to have no sampling error.

    `others` are the classes of `Solution.others`, each of which has its own rounding.
    """
    consistency = Consistency()
    checked = replace(oracle, consistency=consistency)
    solution = solve(checked)
    exact, unknown = (
        not solution.estimate.variances.any(),
        oracle.probe.varies is None and not oracle.probe.answers_only,
    )
    if unknown and (consistency.kind == "batch-dependent" or (exact and not consistency.kind)):
        _ask_again(checked, min(_MOST_AGAIN, budget - checked.n_rows))
        solution = replace(solution, cost=replace(oracle.cost))
    if not consistency.matters(solution.estimate):
        return solution
    if consistency.kind == "batch-dependent" and _only_rounds(checked, solution.estimate):
        consistency.kind = "rounding"
        if not solution.estimate.variances.any():
            solution = _rounded(solution, _variances_of_rounding(checked, others))
        return replace(solution.noted(note(consistency, solution.estimate)), cost=replace(oracle.cost))
    if consistency.kind == "batch-dependent":
        alone = Consistency()
        # The text was first asked beside its reference, so it is asked alone before it is compared.
        checked = replace(oracle.reevaluated(0).again(rows=1), consistency=alone)
        solution = solve(checked)
        if alone.matters(solution.estimate):  # The responses also differ one row at a time: it was noise.
            consistency.kind = "not-deterministic"
    if consistency.kind == "not-deterministic" and checked.n_reused:
        checked = oracle.again(remember=False)
        solution = solve(checked)
    if consistency.kind == "not-deterministic" and not solution.estimate.variances.any():
        n_runs = _n_runs(budget, checked.n_rows)
        solution = _mean_solution([solve(oracle.reevaluated(seed)) for seed in range(n_runs)])
    return replace(solution.noted(note(consistency, solution.estimate)), cost=replace(oracle.cost))


def _ask_again(oracle: Oracle, n: int) -> None:
    """Ask at most n known rows again, together, and record how the answers differ in the oracle's consistency.

    Rows of all responses are asked, because the extreme ones of a model that draws its answers hardly vary. If the
    answers differ, they are asked once more in the same batch: other answers are noise, and not due to the batch.
    """
    if oracle.known is None or n < 1:
        return
    rows, first = oracle.known.spread(len(oracle.probe.scale), n, oracle.respond)

    def again() -> Floats:
        oracle.cost.n_queries += len(rows)
        oracle.cost.n_compared += len(rows)
        return ask(oracle.probe, rows, oracle.options.rows, watch=oracle.cost)

    consistency, second = oracle.consistency, again()
    differences = np.abs(oracle.respond(first) - oracle.respond(second))
    place = int(differences.argmax())
    size = max(float(np.abs(oracle.respond(first)).max()), float(np.abs(first).max()))
    if differences[place] <= RESPONSE_ROUNDING * size:
        return
    noise = np.abs(oracle.respond(again()) - oracle.respond(second)).max()
    consistency.kind = "batch-dependent" if noise <= REPRODUCED * differences[place] else "not-deterministic"
    if differences[place] > consistency.difference:
        consistency.alone, consistency.in_batch = oracle.respond(np.stack([first[place], second[place]])).tolist()
        consistency.scores, consistency.size = np.stack([first[place], second[place]]), size
        consistency.difference = float(differences[place])


def _only_rounds(oracle: Oracle, estimate: Estimate) -> bool:
    """Return whether responses differ by no more than the rounding that the probe tells of.

    Rows that differ are asked together and alone, because a text that is the mean of its batch hides a model that
    takes the mean away.
    """
    probe = oracle.probe
    share = probe.rounding
    if share == np.inf:
        return True
    largest = share * float(np.abs(estimate.gamma).max())
    if oracle.consistency.difference > largest:
        return False
    rows = np.concatenate([np.ones((1, len(probe.scale))), _without_one(oracle)])
    oracle.cost.n_queries += len(rows)
    together = oracle.respond(ask(probe, rows, len(rows), watch=oracle.cost))
    repeats = Repeats(probe, oracle.respond, oracle.cost)
    alone = [repeats.response(row[None], number) for number, row in enumerate(rows)]
    return bool(np.abs(together - alone).max() <= largest)


def _without_one(oracle: Oracle) -> Floats:
    """Return rows `(n, p)`, each without one of the first words."""
    n = min(_MOST_ROUNDED, oracle.size)
    rows = np.ones((n, len(oracle.probe.scale)))
    rows[np.arange(n), oracle.active[:n]] = 0.0
    return rows


def _variances_of_rounding(oracle: Oracle, others: Sequence[int]) -> list[float]:
    """Return the variances of the responses by rounding, for the oracle's class and then for others.

    They are half the mean squared differences of two responses to a row. The rows are the one that was compared, and
    those without one of the first words, which are asked again, alone.
    """
    assert oracle.consistency.scores is not None
    rows = _without_one(oracle)
    known = [None] * len(rows) if oracle.known is None else oracle.known.get(rows)
    repeats = Repeats(oracle.probe, oracle.respond, oracle.cost)
    again = [
        np.stack([scores, repeats.scores(rows[index : index + 1], index, oracle.probe)[0]])
        for index, scores in enumerate(known)
        if scores is not None
    ]
    first, second = np.stack([oracle.consistency.scores, *again], axis=1)
    classes = [oracle, *(replace(oracle, target=target) for target in others)]
    return [float(np.mean(np.square(other.respond(first) - other.respond(second)))) / 2 for other in classes]


def _rounded(solution: Solution, variances: Sequence[float]) -> Solution:
    """Return a solution without sampling error whose responses, and then those of its others, vary by rounding.

    A score that is no regression, as that of occlusion, is the difference of two responses.
    """
    variance, *of_others = variances
    p = len(solution.estimate.gamma)
    difference: Floats = np.diag(np.full(p, 2.0)) if p <= MOST_CORRELATED else np.full(p, 2.0)
    estimate = solution.estimate.every(
        lambda item: replace(item, covariance=variance * (difference if item.of_noise is None else item.of_noise))
    )
    others = tuple(_rounded(other, [its]) for other, its in zip(solution.others, of_others, strict=True))
    return replace(solution, estimate=estimate, exact=False, interactions=(), others=others)


def _mean_solution(runs: Sequence[Solution]) -> Solution:
    """Return the mean of several solutions; each run evaluated the text again, too."""
    return replace(
        runs[-1],
        estimate=_mean([run.estimate for run in runs]),
        response=float(np.mean([run.response for run in runs])),
        exact=False,
        interactions=(),
        others=tuple(_mean_solution(of_one) for of_one in zip(*(run.others for run in runs), strict=True)),
    )


def _mean(runs: Sequence[Estimate]) -> Estimate:
    """Return the mean of several runs `(r,)`, with the covariance of their differences.

    This is for estimates without sampling error, whose only noise is the model's. A few runs estimate the variance of
    one coefficient poorly, so each variance is at least the mean over all coefficients. Noise that all coefficients
    share, such as that of the response at the text, is part of each variance. Correlations are not estimated.
    """
    gammas = np.array([run.gamma for run in runs])
    sample_variances = gammas.var(axis=0, ddof=1)
    variances = np.maximum(sample_variances, sample_variances.mean()) / len(runs)
    spread: Floats = no_scatter(len(variances))
    if len(variances) <= MOST_CORRELATED:
        np.fill_diagonal(spread, variances)
    else:
        spread[:] = variances
    other_effects = {name: _mean([run.other_effects[name] for run in runs]) for name in runs[0].other_effects}
    return Estimate(gammas.mean(axis=0), spread, runs[0].dof, runs[0].fallback, other_effects=other_effects)


def _n_runs(budget: int, cost: int) -> int:
    """Return how many runs of `cost` evaluations each the budget allows, clipped to 5 to 10."""
    return int(np.clip(budget // max(cost, 1), _MIN_RUNS, _MAX_RUNS))
