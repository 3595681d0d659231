"""Explaining a model whose answers to one text differ: no answer is used twice, and its noise enters the standard errors."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mase.arrays import Floats
from mase.models.protocol import RememberingProbe
from mase.regression.consistency import Consistency, note
from mase.regression.covariance import MOST_CORRELATED, no_scatter
from mase.regression.measurement import Measurement
from mase.regression.oracle import ProbeOracle
from mase.regression.problem import Estimate

__all__ = ["asked_anew"]

# Repetitions of an explanation without sampling error, at least and at most.
_FEWEST, _MOST = 5, 10


def asked_anew(
    solve: Callable[[ProbeOracle], Measurement],
    oracle: ProbeOracle,
    found: Measurement,
    watch: Consistency,
    budget: int,
) -> Measurement:
    """Return what `solve` finds of a model whose answers differ, given what it `found` as if they did not; with a note.

    A model whose rows depend on each other is asked row by row. Of one that is not deterministic every row is asked,
    also one that was asked before. What then still has no sampling error, as where all there is was asked, is found
    several times over within the `budget` of evaluations (five times at least), and its errors are those of the model's
    noise.
    """
    careful, runs, n_text = _careful(oracle, watch), [found], 0
    if careful is not None:
        runs.append(solve(careful))
    estimate, response = runs[-1].estimate, runs[-1].response
    if watch.kind == "not-deterministic" and not estimate.variances.any():
        n_text = _n_runs(budget, runs[-1].fit.n_queries)
        repetitions = [solve((careful or oracle).retold(seed)) for seed in range(n_text)]
        estimate, runs = _mean([one.estimate for one in repetitions]), runs + repetitions
        response = float(np.mean([one.response for one in repetitions]))  # at the text, which was asked anew each time
    setup = oracle.probe.n_setup
    n_queries = setup + n_text + sum(run.fit.n_queries - setup for run in runs)
    fit, notes = replace(runs[-1].fit, n_queries=n_queries), (note(watch), *runs[-1].notes)
    return replace(runs[-1], estimate=estimate, response=response, fit=fit, notes=notes)


def _careful(oracle: ProbeOracle, watch: Consistency) -> ProbeOracle | None:
    """Return the oracle that asks every row anew, and alone where rows depend on each other; None where this one does."""
    alone, probe = watch.kind == "batch-dependent", oracle.probe
    if isinstance(probe, RememberingProbe):
        probe = probe.afresh(remember=alone)
    elif not alone:
        return None
    return replace(oracle, probe=probe, batch_size=1 if alone else oracle.batch_size)


def _mean(runs: Sequence[Estimate]) -> Estimate:
    """Return the mean of several runs `(r,)`, with the covariance that their differences show.

    It is for estimates without sampling error, whose only noise is the model's. Few runs estimate one coefficient's
    variance poorly, so that it counts as at least the mean over all coefficients. What makes an estimate vary together,
    like one noisy answer that all coefficients are compared with, is in each variance; correlations are not estimated.
    """
    gammas = np.array([found.gamma for found in runs])
    own = gammas.var(axis=0, ddof=1)
    variances = np.maximum(own, own.mean()) / len(runs)
    spread: Floats = no_scatter(len(own))
    if len(own) <= MOST_CORRELATED:
        np.fill_diagonal(spread, variances)
    else:
        spread[:] = variances
    return Estimate(gammas.mean(axis=0), spread, runs[0].dof, runs[0].remark)


def _n_runs(budget: int, cost: int) -> int:
    """Return how often an explanation that costs `cost` evaluations is run: as often as the budget allows, 5 to 10 times."""
    return int(np.clip(budget // max(cost, 1), _FEWEST, _MOST))
