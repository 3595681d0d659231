"""Explain models that are not deterministic: evaluate rows again and include the noise in the standard errors."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mase.arrays import Floats
from mase.models.batching import ask
from mase.models.protocol import RoundingProbe
from mase.regression.consistency import Consistency, Repeats, note
from mase.regression.covariance import MOST_CORRELATED, no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.strategy import Solution

__all__ = ["repeated"]

# Bounds on the number of repetitions of an explanation without sampling error.
_MIN_RUNS, _MAX_RUNS = 5, 10
# Number of rows that show how much a model rounds.
_MOST_ROUNDED = 8


def repeated(solve: Callable[[Oracle], Solution], oracle: Oracle, budget: int, others: Sequence[int] = ()) -> Solution:
    """Return the solution of an oracle, solved again and with a note if the model's responses to one text differ.

    A model whose rows depend on each other is evaluated one row at a time. A model that is not deterministic is asked
    again for a row whenever the row is drawn, so that the errors of a regression include the model's noise. If the
    estimate still has no sampling error, as in occlusion, the explanation is repeated within the budget of evaluations,
    at least five times. Its standard errors then describe the model's noise. A model that rounds a little is not asked
    again: its rounding is in the residuals of a regression. A few rows show it for scores without sampling error.

    `others` are the classes of `Solution.others`, each of which has its own rounding.
    """
    consistency = Consistency()
    checked = replace(oracle, consistency=consistency)
    solution = solve(checked)
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


def _only_rounds(oracle: Oracle, estimate: Estimate) -> bool:
    """Return whether responses differ by no more than the rounding that the probe tells of.

    Rows that differ are asked together and alone, because a text that is the mean of its batch hides a model that
    takes the mean away.
    """
    probe = oracle.probe
    share = probe.rounding if isinstance(probe, RoundingProbe) else 0.0
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
    return [float(np.mean(np.square(one.respond(first) - one.respond(second)))) / 2 for one in classes]


def _rounded(solution: Solution, variances: Sequence[float]) -> Solution:
    """Return a solution without sampling error whose responses, and then those of its others, vary by rounding.

    A score that is no regression, as that of occlusion, is the difference of two responses.
    """
    variance, *of_others = variances
    p = len(solution.estimate.gamma)
    difference: Floats = np.diag(np.full(p, 2.0)) if p <= MOST_CORRELATED else np.full(p, 2.0)
    estimate = solution.estimate.every(
        lambda one: replace(one, covariance=variance * (difference if one.of_noise is None else one.of_noise))
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
    further = {name: _mean([run.further[name] for run in runs]) for name in runs[0].further}
    return Estimate(gammas.mean(axis=0), spread, runs[0].dof, runs[0].fallback, further=further)


def _n_runs(budget: int, cost: int) -> int:
    """Return how many runs of `cost` evaluations each the budget allows, clipped to 5 to 10."""
    return int(np.clip(budget // max(cost, 1), _MIN_RUNS, _MAX_RUNS))
