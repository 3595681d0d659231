"""The linear program of Eq. lp for any positive-definite Sigma, solved by row and column generation with HiGHS."""

import numpy as np
from scipy.optimize import linprog

from mase.arrays import Floats
from mase.errors import MaseError
from mase.estimators.gram import Gram

__all__ = ["minimum_l1"]

# Row violations below the first number (relative to max |b|) and reduced costs below the second (of 1) are rounding.
_ROW_SLACK, _COLUMN_SLACK = 1e-10, 1e-9
# Rows and columns added per round. A small number keeps each program small, a large number needs few rounds.
_BATCH = 40


def minimum_l1(matrix: Floats | Gram, b: Floats, tol: float) -> Floats:
    """Return argmin |g|_1 subject to |b - S g|_inf <= tol, for S `(p, p)` symmetric positive definite and b `(p,)`.

    Start from the rows and columns with the largest violations at g = 0 and solve the program restricted to them. Add
    the rows that the solution violates and the columns with negative reduced costs. Repeat until there are none, which
    is the optimum of the full program. The last vertex is solved again as linear equations, so it is exact up to
    rounding.

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
    # Scale all entries to at most 1, which suits the tolerances of the solver.
    target, width = b / scale, tol / scale
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
    """Return the indices of the largest excesses above the slack that are not among the known indices."""
    violated = excess > slack
    violated[known] = False
    index = np.flatnonzero(violated)
    return index[np.argsort(-excess[index], kind="stable")[:_BATCH]]


def _restricted(matrix: Floats, b: Floats, tol: float) -> tuple[Floats, Floats]:
    """Return the optimal values and the dual prices of the rows of a restricted program."""
    m = matrix.shape[1]
    result = linprog(
        np.ones(2 * m),
        A_ub=np.block([[matrix, -matrix], [-matrix, matrix]]),
        b_ub=np.concatenate([b + tol, tol - b]),
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False},
    )
    if result.status != 0:
        raise MaseError(f"HiGHS could not solve the linear program of Eq. lp: {result.message}; use a larger tol")
    values = result.x[:m] - result.x[m:]
    upper, lower = np.split(result.ineqlin.marginals, 2)
    return _polished(matrix, b, tol, values, upper - lower)


def _polished(matrix: Floats, b: Floats, tol: float, values: Floats, prices: Floats) -> tuple[Floats, Floats]:
    """Return values and prices from the linear equations of their vertex, unless the vertex is degenerate."""
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
