"""The linear program of Eq. lp for any positive-definite Sigma: HiGHS on the few rows and columns that matter."""

import numpy as np
from scipy.optimize import linprog

from mase.arrays import Floats
from mase.errors import MaseError
from mase.estimators.gram import Gram

__all__ = ["minimum_l1"]

# Violations of a row below this share of max |b| count as rounding; so do reduced costs (of 1) below the second.
_ROW_SLACK, _COLUMN_SLACK = 1e-10, 1e-9
# Rows and columns added in one round: enough to need few rounds, few enough to keep each program small.
_BATCH = 40


def minimum_l1(matrix: Floats | Gram, b: Floats, tol: float) -> Floats:
    """Return argmin |g|_1 subject to |b - S g|_inf <= tol, for S `(p, p)` symmetric positive definite and b `(p,)`.

    Starts from the rows and columns that are furthest out of tolerance at g = 0, solves the program restricted to them,
    adds the rows that it violates and the columns whose reduced cost is negative, and stops when there are none: the
    optimum of the whole program. The last vertex is solved again as linear equations, to rounding.

    Raises
    ------
    MaseError
        If the solver reports failure.
    """
    scale = float(np.abs(b).max(initial=0.0))
    if scale <= tol:
        return np.zeros(len(b))
    gram = Gram.of(matrix)
    size = float(gram.diagonal().max())
    target, width = b / scale, tol / scale  # every entry at most 1: the solver's tolerances fit
    chosen = _worst(np.abs(target) - width, _ROW_SLACK, np.arange(0))
    rows = columns = np.sort(chosen)
    for _ in range(4 * len(b)):
        values, prices = _restricted(gram.block(rows, columns) / size, target[rows], width)
        more_rows = _worst(np.abs(target - gram.times(values, columns) / size) - width, _ROW_SLACK, rows)
        more_columns = _worst(np.abs(gram.times(prices, rows) / size) - 1.0, _COLUMN_SLACK, columns)
        if not len(more_rows) and not len(more_columns):
            gamma = np.zeros(len(b))
            gamma[columns] = values * (scale / size)
            return gamma
        both = np.union1d(more_rows, more_columns)
        rows, columns = np.union1d(rows, both), np.union1d(columns, both)
    raise MaseError("the linear program of Eq. lp did not converge; pass a diagonal sigma or a larger tol")


def _worst(excess: Floats, slack: float, known: np.ndarray) -> np.ndarray:
    """Return the indices, not yet known, of the largest excesses above the slack."""
    out = excess > slack
    out[known] = False
    index = np.flatnonzero(out)
    return index[np.argsort(-excess[index], kind="stable")[:_BATCH]]


def _restricted(matrix: Floats, b: Floats, tol: float) -> tuple[Floats, Floats]:
    """Return the optimal values and the prices of the rows of one small program."""
    m = matrix.shape[1]
    solved = linprog(
        np.ones(2 * m),
        A_ub=np.block([[matrix, -matrix], [-matrix, matrix]]),
        b_ub=np.concatenate([b + tol, tol - b]),
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False},
    )
    if solved.status != 0:
        raise MaseError(f"HiGHS could not solve the linear program of Eq. lp: {solved.message}")
    values = solved.x[:m] - solved.x[m:]
    upper, lower = np.split(solved.ineqlin.marginals, 2)
    return _polished(matrix, b, tol, values, upper - lower)


def _polished(matrix: Floats, b: Floats, tol: float, values: Floats, prices: Floats) -> tuple[Floats, Floats]:
    """Return values and prices solved again from the equations of their vertex, where it is not degenerate."""
    support, tight = np.flatnonzero(values), np.flatnonzero(prices)
    if len(support) != len(tight) or not len(support):
        return values, prices
    basis = matrix[np.ix_(tight, support)]
    exact, exact_prices = np.zeros_like(values), np.zeros_like(prices)
    try:
        exact[support] = np.linalg.solve(basis, b[tight] - tol * np.sign(prices[tight]))
        exact_prices[tight] = np.linalg.solve(basis.T, np.sign(values[support]))
    except np.linalg.LinAlgError:
        return values, prices
    return exact, exact_prices
