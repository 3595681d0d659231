"""Explain several responses of one model from the same evaluations."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from mase.attribution import Note
from mase.regression.designed import Regression
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution, Strategy

__all__ = ["together"]


def together(
    strategy: Strategy,
    others: Sequence[int],
    oracle: Oracle,
    budget: int,
    rng: np.random.Generator,
    stopping: Stopping,
) -> Solution:
    """Run a strategy for the class of the oracle, the leading one, and then solve for the classes `others`.

    A regression without gradients is solved again: the class scores of its rows are turned into the responses of
    another class, to which the same estimator is fitted. Any other strategy is run again, and so is an adaptive one
    that has asked all rows there are. What was asked before costs nothing; if more is asked, as by a procedure that
    chooses its rows, a note says so.

    What an adaptive strategy draws begins with the same random numbers for each class.
    """
    draws = deepcopy(rng)
    first = strategy.run(oracle, budget, rng, stopping)
    if not others:
        return first
    n_asked, n_floored, further = oracle.cost.n_queries, oracle.cost.n_floored, []
    for target in others:
        other = replace(oracle, target=target, n_rows=0, solved=None)
        oracle.cost.n_floored = 0  # which rows are floored depends on the class
        if isinstance(strategy, Regression) and first.answered is not None and not first.exact:
            further.append(strategy.solved_again(first.answered, other, stopping))
        else:
            further.append(strategy.run(other, budget, deepcopy(draws), stopping))
    oracle.cost.n_floored = n_floored
    found = replace(first, cost=replace(oracle.cost), others=tuple(further))
    if oracle.cost.n_queries > n_asked:
        return found.noted(_note(oracle.method))
    adapts = not stopping.never or (isinstance(strategy, Regression) and strategy.design.rounds > 1)
    return replace(found, leads=adapts and first.answered is not None and not first.exact)


def _note(method: str) -> Note:
    message = (
        f"method {method!r} cannot solve for several classes from the same evaluations, so each class was explained on "
        "its own and has evaluations of its own"
    )
    return Note("separately", message)
