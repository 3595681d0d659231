"""Explaining a model whose answers to one text differ: no answer is used twice, and its noise enters the standard errors."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats
from mase.models.protocol import RememberingProbe
from mase.regression.consistency import Consistency, note
from mase.regression.covariance import MOST_CORRELATED, no_scatter
from mase.regression.oracle import Oracle
from mase.regression.problem import Estimate
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution, Strategy

__all__ = ["Repeated"]

# Repetitions of an explanation without sampling error, at least and at most.
_FEWEST, _MOST = 5, 10


@dataclass(frozen=True, slots=True)
class Repeated:
    """A strategy that is run again where the model's answers to one text differ, and then says so.

    A model whose rows depend on each other is asked row by row. Of one that is not deterministic every row is asked,
    also one that was asked before. What then still has no sampling error, as where all there is was asked, is found
    several times over within the budget of evaluations (five times at least), and its errors are those of the model's
    noise.
    """

    strategy: Strategy

    @property
    def needs_gradients(self) -> bool:
        """As the strategy."""
        return self.strategy.needs_gradients

    @property
    def needs_reference(self) -> bool:
        """As the strategy."""
        return self.strategy.needs_reference

    @property
    def stops_early(self) -> bool:
        """As the strategy."""
        return self.strategy.stops_early

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return what the strategy finds; with a note and the noise of the model, where its answers differ."""

        def solve(asked: Oracle) -> Solution:
            return self.strategy.run(asked, budget, deepcopy(rng), stopping)

        watch = Consistency()
        found = solve(replace(oracle, consistency=watch))
        if not watch.matters(found.estimate):
            return found
        careful, before = _careful(oracle, watch), 0
        if careful is not None:
            before = oracle.cost.n_queries - oracle.probe.n_setup
            found = solve(careful)
        if watch.kind == "not-deterministic" and not found.estimate.variances.any():
            n_runs = _n_runs(budget, oracle.cost.n_queries - before)
            runs = [solve((careful or oracle).asked_anew(seed)) for seed in range(n_runs)]
            response = float(np.mean([run.response for run in runs]))  # at the text, asked anew each time
            found = replace(runs[-1], estimate=_mean([run.estimate for run in runs]), response=response)
        return replace(found, cost=replace(oracle.cost), notes=(note(watch), *found.notes))


def _careful(oracle: Oracle, watch: Consistency) -> Oracle | None:
    """Return the oracle that asks every row anew, and alone where rows depend on each other; None where this one does."""
    alone, probe = watch.kind == "batch-dependent", oracle.probe
    if isinstance(probe, RememberingProbe):
        probe = probe.afresh(remember=alone)
    elif not alone:
        return None
    return oracle.again(probe, rows=1 if alone else None)


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
