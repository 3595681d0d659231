"""Screening: few requests to a model that only answers, pairs of complementary halves, and repeats where it varies."""

from dataclasses import dataclass, replace
from math import ceil, log2

import numpy as np
from scipy.stats import t as student

from mase.arrays import Floats, Ints
from mase.attribution.response import Z95, Note
from mase.defaults import is_real
from mase.errors import BudgetSpentError, OptionError, TooFewSamplesError
from mase.models.batching import ask
from mase.procedures.control import Control
from mase.solve.determinism import UNCHECKED
from mase.solve.distributions import Covariance
from mase.solve.oracle import Oracle
from mase.solve.problem import Estimate, Sample
from mase.solve.strategy import Answered, Solution, Stopping, Strategy

_CONSTANT = (
    "no part that was left out changed the explained number: all scores are 0; perhaps the model answers from what it "
    "knows, or several parts say the same"
)
_STEPS = (
    "the explained number is 0 or 1 for each answer: a score is the share of conversations in which the part decides, "
    "and not how likely an answer is"
)
_FEW = "{} rows are few to tell {} parts apart, expected at least {}; use a larger n_samples"
_REST = "the scores explain {:.0%} of the variance of the explained number; the rest is parts that act together"
# Pairs of rows that a round asks, and that are needed beyond log2(p) before a perfect fit is believed: another part
# then has the same column with a probability below 4 %.
_ROUND, _BEYOND = 2, 6
_POOR = 0.5
# The largest set of parts whose combinations a later round asks equally often.
_MOST_CROSSED = 4
# How often a row is asked again at most, the repeats from which noise is estimated, and those that look for any.
_MOST_REPEATS, _FEWEST_REPEATS, _CHECKED = 15, 3, 4
_ROUNDING = 1e-12
# How often differences are adjusted by a control variate and parts are selected anew.
_ADJUSTED = 3


@dataclass(frozen=True, slots=True)
class Screening(Strategy):
    """Which parts an answer needs, from few requests: gamma_i is the mean change when part i is in rather than out.

    The mean is over all subsets of the other parts, each of which is as likely as any other (the Banzhaf value). Up to
    five parts, or as long as the budget allows, all subsets are asked. Otherwise a first round asks pairs of a random
    half of the parts and the other half (Hadamard rows, folded over), so that a row tests a large group and the effects
    of two parts together cancel. Later rounds go on with such pairs, in which the parts that matter so far are in and
    out in all combinations equally often.

    Effects are taken to be sparse: each part is regressed together with those that were selected, one after another, as
    long as the next is significant among all parts (Bonferroni). Where answers vary, their noise is in the residuals of
    that regression. Where all subsets were asked, the rest of the budget asks some of them again, for the noise alone.

    Parameters
    ----------
    share
        The share of the rows in the first round.
    level
        The level at which a part is selected.

    Notes
    -----
    Standard errors are widened to Student's t, so that 1.96 of them are a 95 % interval. Where no row deviates from the
    fit, one deviation in twice as many pairs is allowed for.
    """

    share: float = 0.5
    level: float = 0.05
    stops_early = True

    def __post_init__(self) -> None:
        for name, value in (("share", self.share), ("level", self.level)):
            if not (is_real(value) and 0 < value < 1):
                raise OptionError(f"{name} is {value!r}, expected a number between 0 and 1")

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with its covariance, from at most `budget` requests.

        Raises
        ------
        TooFewSamplesError
            If the budget is smaller than two rows.
        BudgetSpentError
            If the money does not suffice for as many rows as it takes to say anything.
        """
        if budget < 2:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} requests for the scores, expected at least 2; use a larger n_samples"
            )
        if oracle.probe.answers_only:  # the repeats that are planned here tell noise
            oracle = replace(oracle, consistency=UNCHECKED)
        control = Control.of(oracle)
        rows, scores, ended = self._asked(oracle, budget, rng, stopping, control)
        n, p = rows.shape
        sample = Sample(rows, rows - 0.5, np.ones(n), False, 0.5, Covariance(np.full(p, 0.5)))  # of fair coins
        return self._solution(oracle, Answered(sample, scores, None), stopping, ended, control)

    def solved_again(self, answered: Answered, oracle: Oracle, stopping: Stopping) -> Solution:
        """Return the solution for the class or measure of another oracle from rows that were asked for one of them."""
        return self._solution(oracle, answered, stopping, None, Control.of(oracle))

    def _asked(
        self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping, control: Control | None
    ) -> tuple[Floats, Floats, Note | None]:
        """Return the rows `(n, p)` in pairs, then those that were asked again, with their scores `(n, k)`."""
        p, noisy = oracle.size, oracle.probe.varies
        everything = 2**p <= budget + 1  # the text itself is known
        goal = 2**p if everything else budget - budget % 2
        halves = _every_half(p, rng) if everything else _halves(p, goal // 2, rng)
        size = 2 * _ROUND if stopping.ruled else max(2 * _ROUND, oracle.probe.batch_size)
        rows, scores, n_rejected = np.empty((0, p)), np.empty((0, oracle.start.shape[1])), 0
        try:
            while n := min(size, goal - len(rows) - (0 if everything else n_rejected)) // 2:
                done = len(rows) // 2
                chosen = halves[done : done + n]
                if not everything and done >= self.share * goal / 2:
                    chosen = _crossed(chosen, self._selected(*_differences(rows, oracle.respond(scores))), rng)
                more = np.stack([chosen, 1 - chosen], axis=1).reshape(-1, p)
                scores, rows = np.concatenate([scores, oracle.scores(more)]), np.concatenate([rows, more])
                charged = oracle.probe.n_rejected
                oracle.cost.n_queries, n_rejected = oracle.cost.n_queries + charged - n_rejected, charged
                if everything or stopping.never or len(rows) < 2 * _least(p):
                    continue
                estimate = self._estimate(rows, oracle.respond(scores), control, noisy=bool(noisy))
                if stopping.enough(oracle.of_units(estimate)):
                    break
            if everything and noisy is not False:
                n_again = min(budget + 1 - goal, _MOST_REPEATS * goal)
                orders = [rng.permutation(goal) for _ in range(-(-n_again // goal))]
                again = np.array(orders, dtype=np.intp).ravel()[:n_again]  # each as often as any other, but for one
                rows, scores = _repeated(oracle, rows, scores, again[: None if noisy else _CHECKED])
                if noisy is None and _differ(rows, scores):
                    rows, scores = _repeated(oracle, rows, scores, again[_CHECKED:])
        except BudgetSpentError as error:
            if len(rows) < 2 * min(_least(p), 2 ** (p - 1)):
                raise
            return rows, scores, Note("budget-spent", f"{error}; the scores are from the requests before")
        return rows, scores, None

    def _solution(
        self, oracle: Oracle, answered: Answered, stopping: Stopping, ended: Note | None, control: Control | None
    ) -> Solution:
        """Return the solution of rows that were asked, with its notes."""
        rows, responses = answered.sample.coordinates, oracle.respond(answered.scores)
        noisy, complete = bool(oracle.probe.varies) or _differ(rows, answered.scores), _is_complete(rows)
        estimate = self._estimate(rows, responses, control, noisy=noisy)
        chosen = [*range(oracle.size)] if complete else self._selected(*_differences(rows, responses))
        r2, solution = _r2(rows, responses, estimate.gamma, chosen), Solution.of(oracle, estimate)
        notes = [] if ended is None else [ended]
        if noisy:
            message = "the model answers the same messages differently; the standard errors include this noise"
            notes.append(Note("not-deterministic", message))
        if not estimate.gamma.any():
            notes.append(Note("constant", _CONSTANT))
        elif np.isin(responses, (0.0, 1.0)).all():
            notes.append(Note("hard-labels", _STEPS))
        if len(rows) < 2 * _least(oracle.size) and not complete:
            notes.append(Note("few-samples", _FEW.format(len(rows), oracle.size, 2 * _least(oracle.size))))
        if r2 is not None and r2 < _POOR and not noisy:
            notes.append(Note("poor-fit", _REST.format(max(r2, 0.0))))
        exact = complete and not noisy
        notes += [] if exact else stopping.notes(oracle.of_units(estimate))
        notes += [note for note in solution.notes if note.code != "constant"]
        return replace(solution, notes=tuple(notes), exact=exact, r2=r2, answered=answered)

    def _estimate(self, rows: Floats, responses: Floats, control: Control | None, *, noisy: bool) -> Estimate:
        """Return gamma `(p,)` with its covariance from rows `(n, p)` and responses `(n,)`."""
        if _is_complete(rows):
            return _of_all_subsets(rows, responses, noisy=noisy)
        signs, differences = _differences(rows, responses)
        chosen, adjusted = self._selected(signs, differences), differences
        if control is None:
            return _of_pairs(signs, differences, chosen)
        for _ in range(_ADJUSTED):  # with less noise, more parts stand out of it
            adjusted, variances = control.adjusted(signs, differences, chosen)
            chosen = self._selected(signs, adjusted)
        estimate = _of_pairs(signs, adjusted, chosen)
        return replace(estimate, covariance=estimate.covariance + np.diag(variances))

    def _selected(self, signs: Floats, differences: Floats) -> list[int]:
        """Return the parts that matter, in the order in which they were selected."""
        m, p = signs.shape
        chosen: list[int] = []
        basis, residual = np.empty((m, 0)), differences
        total = float(differences @ differences)
        while len(chosen) < min(p, (m - 2) // 3) and residual @ residual > _ROUNDING * total:
            free = signs - basis @ (basis.T @ signs)
            sizes = np.einsum("mp,mp->p", free, free)
            gains = np.where(sizes > _ROUNDING * m, np.square(free.T @ residual) / np.maximum(sizes, _ROUNDING), 0.0)
            best, dof = int(gains.argmax()), m - len(chosen) - 1
            rest = max(float(residual @ residual) - float(gains[best]), _ROUNDING * total) / dof
            if 2 * p * student.sf(np.sqrt(gains[best] / rest), dof) > self.level:
                break
            chosen.append(best)
            basis = np.column_stack([basis, free[:, best] / np.sqrt(sizes[best])])
            residual = differences - basis @ (basis.T @ differences)
        return chosen


def _differ(rows: Floats, scores: Floats) -> bool:
    """Return whether answers to the same row differ."""
    first = dict[bytes, Floats]()
    return any((first.setdefault(row.tobytes(), score) != score).any() for row, score in zip(rows, scores, strict=True))


def _repeated(oracle: Oracle, rows: Floats, scores: Floats, repeats: Ints) -> tuple[Floats, Floats]:
    """Return rows and scores with those of some rows that were asked once more."""
    if not len(repeats):
        return rows, scores
    every = np.ones((len(repeats), len(oracle.probe.scale)))
    every[:, oracle.active] = rows[repeats]
    oracle.cost.n_queries += len(repeats)
    more = ask(oracle.probe, every, oracle.options.rows, watch=oracle.cost)
    return np.concatenate([rows, rows[repeats]]), np.concatenate([scores, more])


def _least(p: int) -> int:
    """Return the number of pairs below which a perfect fit may be chance."""
    return ceil(log2(p)) + _BEYOND


def _every_half(p: int, rng: np.random.Generator) -> Floats:
    """Return one of each two complementary subsets `(2^(p-1), p)`, in random order."""
    numbers = 2 ** (p - 1) + rng.permutation(2 ** (p - 1))
    return np.asarray(numbers[:, None] >> np.arange(p) & 1, dtype=np.float64)


def _halves(p: int, n: int, rng: np.random.Generator) -> Floats:
    """Return n rows `(n, p)` of Hadamard matrices with random columns and signs, each the first of a pair."""
    order, blocks = 1 << p.bit_length(), list[Floats]()
    for _ in range(-(-n // order)):
        numbers, columns = rng.permutation(order), 1 + rng.permutation(order - 1)[:p]
        kept = np.bitwise_count(numbers[:, None] & columns) & 1
        blocks.append(np.asarray(kept ^ rng.integers(0, 2, p), dtype=np.float64))
    return np.concatenate(blocks)[:n]


def _crossed(halves: Floats, chosen: list[int], rng: np.random.Generator) -> Floats:
    """Return rows in which the first chosen parts are in and out in all combinations, equally often."""
    strongest = chosen[:_MOST_CROSSED]
    if len(strongest) < 2:
        return halves
    every = _every_half(len(strongest), rng)
    crossed = halves.copy()
    crossed[:, strongest] = every[np.arange(len(halves)) % len(every)]
    return crossed


def _is_complete(rows: Floats) -> bool:
    """Return whether rows `(n, p)` are all subsets, some of them perhaps more than once."""
    n, p = rows.shape
    return p < int(n).bit_length() and bool(len(np.unique(rows, axis=0)) == 2**p)


def _of_all_subsets(rows: Floats, responses: Floats, *, noisy: bool) -> Estimate:
    """Return the mean effects over all subsets, and the covariance of the noise of answers if they vary.

    The noise is that between answers to the same row. Without any, it is what the effects of single parts leave, which
    is no less.
    """
    cells, of_row, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    p, of_row = rows.shape[1], of_row.ravel()
    means = np.bincount(of_row, responses) / counts
    row_weights = (2 * cells - 1) / 2 ** (p - 1)
    gamma = row_weights.T @ means
    if not noisy:
        return Estimate(gamma, np.zeros((p, p)), float(p))
    residuals, dof = responses - means[of_row], len(rows) - len(cells)
    if dof < _FEWEST_REPEATS:
        residuals, dof = means - means.mean() - (cells - 0.5) @ gamma, max(1, len(cells) - p - 1)
    total = float(residuals @ residuals)
    if np.isin(responses, (0.0, 1.0)).all():  # one more answer of each kind, as in the interval of Agresti and Coull
        total, dof = total + 0.5, dof + 1
    variance = max(total / dof, float(means.var()) / (2 * len(rows)))
    spread = row_weights.T @ (row_weights / counts[:, None]) * variance * _widening(dof) ** 2
    return Estimate(gamma, spread, float(p))


def _differences(rows: Floats, responses: Floats) -> tuple[Floats, Floats]:
    """Return the signs `(m, p)` of pairs of complementary rows, and the differences `(m,)` of their responses."""
    return 2 * rows[0::2] - 1, responses[0::2] - responses[1::2]


def _of_pairs(signs: Floats, differences: Floats, chosen: list[int]) -> Estimate:
    """Return the effect of each part, given those that were chosen, with the covariance of its regression."""
    m, p = signs.shape
    gamma, variances = np.zeros(p), np.zeros(p)
    largest = float(differences @ differences) / m
    for part in range(p):
        others = signs[:, [item for item in chosen if item != part]]
        basis = np.linalg.qr(others)[0] if others.shape[1] else np.empty((m, 0))
        free = signs[:, part] - basis @ (basis.T @ signs[:, part])
        size = float(free @ free)
        if size <= _ROUNDING * m:  # the same column as a chosen one
            variances[part] = largest / m
            continue
        gamma[part] = free @ differences / size
        residual = differences - basis @ (basis.T @ differences) - gamma[part] * free
        dof = max(1, m - basis.shape[1] - 1)
        variance = max(float(residual @ residual) / dof, largest / (2 * m))
        variances[part] = variance / size * _widening(dof) ** 2
    gamma[np.abs(gamma) <= _ROUNDING * np.sqrt(largest)] = 0.0
    return Estimate(gamma, np.diag(variances), float(p))


def _widening(dof: int) -> float:
    """Return by how much wider a 95 % interval of Student's t is than a normal one."""
    return float(student.ppf(0.975, dof)) / Z95


def _r2(rows: Floats, responses: Floats, gamma: Floats, chosen: list[int]) -> float | None:
    """Return the share of the variance that the chosen parts explain; all parts if all rows were asked."""
    n, k = len(rows), len(chosen)
    if _is_complete(rows):
        rows, of_row, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        responses, n, k = np.bincount(of_row.ravel(), responses) / counts, len(rows), 0
    total = float(responses.var())
    if not total or n - k < 2:
        return None
    rest = responses - (rows - 0.5)[:, chosen] @ gamma[chosen]
    return 1 - float(rest.var()) * (n - 1) / (total * (n - k - 1))
