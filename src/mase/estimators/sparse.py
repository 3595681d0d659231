"""Sparse estimators: the lasso, the linear program of MASE_Sparse, and the Dantzig selector."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import linprog

from mase.arrays import Floats
from mase.errors import MaseError, OptionError
from mase.estimators.linear import Moment, dof, moment_rows
from mase.solve.distributions import scatter, widening
from mase.solve.kernel import Gram
from mase.solve.problem import Estimate, Estimator, Problem

# Number of groups of the jackknife.
_FOLDS = 10

# A coordinate is linearly dependent if the part of its norm that the others do not span is below this share.
_RANK_TOLERANCE = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Lasso(Estimator):
    """Minimise the weighted squared error subject to |gamma|_1 <= radius (Eq. definition_2 with its constraint).

    The paper calls the bound L and gives no value. `radius` is an absolute bound. If it is None, the bound is `share`
    times the norm of the unconstrained solution (the minimum-norm solution if there are too few rows).

    Notes
    -----
    The solver is the lasso homotopy (Osborne, Presnell and Turlach 2000; LARS). The solution is piecewise linear in the
    radius, so the last piece meets the bound exactly. The covariance is a delete-a-group jackknife with ten groups.
    """

    radius: float | None = None
    share: float = 0.5

    def __post_init__(self) -> None:
        if self.radius is not None and not 0 <= self.radius < np.inf:
            raise OptionError(f"radius is {self.radius}, expected a finite number >= 0, or None")
        if not 0 <= self.share <= 1:
            raise OptionError(f"share is {self.share}, expected a number from 0 to 1")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its jackknife covariance; the bound sets some coefficients to exactly 0."""
        z, y = problem.centred()
        gamma = self._solved(z, y)
        return Estimate(
            gamma, jackknifed(z, y, self._solved), float(np.count_nonzero(gamma)), penalty=self._taken(gamma)
        )

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` alone."""
        return self._solved(*problem.centred())

    def _solved(self, z: Floats, y: Floats) -> Floats:
        return _bounded(z, y, self._bound(z, y))

    def _taken(self, gamma: Floats) -> str | None:
        """Return what the bound takes from the coefficients `(p,)`; None if it does not bind."""
        binds = self.share < 1 if self.radius is None else np.abs(gamma).sum() >= self.radius * (1 - _ROUNDING)
        weaker = f"share above {self.share:g}" if self.radius is None else f"radius above {self.radius:g}"
        return f"what the bound on the scores takes, which a {weaker} reduces" if binds else None

    def _bound(self, z: Floats, y: Floats) -> float:
        """Return the bound on the L1 norm."""
        if self.radius is not None:
            return self.radius
        gamma, *_ = np.linalg.lstsq(z, y)
        return self.share * float(np.abs(gamma).sum())


def jackknifed(z: Floats, y: Floats, solve: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return the covariance of `solve(z, y)` for centred rows `(n, p)` and `(n,)`: a delete-a-group jackknife.

    Few groups say little of how far the solution varies. So it is widened by Student's distribution: 1.96 of the
    standard errors are as wide as a 95 % interval that knows the number of groups. It is NaN for a single row.
    """
    if len(y) < 2:
        return np.full((z.shape[1], z.shape[1]), np.nan)
    folds = min(_FOLDS, len(y))
    group = np.arange(len(y)) % folds
    left_out = np.array([solve(z[group != fold], y[group != fold]) for fold in range(folds)])
    return scatter(left_out - left_out.mean(axis=0)) * widening(folds - 1) * (folds - 1) / folds


def _bounded(z: Floats, y: Floats, radius: float) -> Floats:
    """Return the bounded coefficients `(p,)` from centred rows."""
    return solve_lasso(Gram.of_rows(z / np.sqrt(len(y))), z.T @ y / len(y), radius)


def solve_lasso(gram: Floats | Gram, cross: Floats, radius: float = np.inf, penalty: float = 0.0) -> Floats:
    """Return argmin 1/2 g'Gg - c'g + penalty |g|_1 subject to |g|_1 <= radius, for G `(p, p)` and c `(p,)`.

    If G is singular, the path is not unique and the solution may miss the minimum, but it satisfies the bound.
    """
    gamma = _end_of_path(Gram.of(gram), cross, radius, penalty)
    norm = float(np.abs(gamma).sum())
    return gamma * (radius / norm) if norm > radius * (1 + _ROUNDING) else gamma


def _end_of_path(gram: Gram, cross: Floats, radius: float, penalty: float) -> Floats:
    """Return the coefficients `(p,)` where the path reaches the radius or the penalty, or ends.

    Follow the path from g = 0. On each piece the active coefficients move along G_AA^-1 sign, until a coordinate joins
    the active set, one reaches zero and leaves it, the correlations reach the penalty, or the norm the radius.
    """
    p = len(cross)
    gamma, active = np.zeros(p), np.zeros(p, dtype=bool)
    signs = np.zeros(p)
    correlation = cross.copy()
    level = np.abs(correlation).max(initial=0.0)
    floor = max(1e-12 * level, penalty)
    dropped = -1
    for _ in range(8 * p + 8):
        norm = np.abs(gamma).sum()
        if level <= floor or norm >= radius:
            break
        joins = ~active & (np.abs(correlation) >= level * (1 - 1e-10))
        if dropped >= 0:
            joins[dropped] = False
        signs[joins] = np.sign(correlation[joins])
        active |= joins
        index = np.flatnonzero(active)
        step = np.zeros(p)
        step[index] = _direction(gram.block(index, index), signs[index])
        slope = gram.times(step[index], index)
        length, dropped = _next_knot(gamma, step, correlation, slope, active, level)
        if level - length < penalty:
            length, dropped = level - penalty, -1
        growth = float(signs[index] @ step[index])  # Increase of the L1 norm per unit of length.
        if growth > 0 and norm + length * growth >= radius:
            return np.asarray(gamma + step * (radius - norm) / growth)
        gamma, correlation, level = gamma + step * length, correlation - slope * length, level - length
        if dropped >= 0:
            gamma[dropped], active[dropped], signs[dropped] = 0.0, False, 0.0
    return gamma


def _direction(gram: Floats, signs: Floats) -> Floats:
    """Return G^-1 s for the active coordinates, with minimum norm if G is singular."""
    lower, failed = dpotrf(gram, lower=True)
    if not failed and (np.diag(lower) > _RANK_TOLERANCE * np.sqrt(np.diag(gram))).all():
        return np.asarray(dpotrs(lower, signs, lower=True)[0])
    return np.asarray(np.linalg.lstsq(gram, signs, rcond=None)[0])


def _next_knot(
    gamma: Floats, step: Floats, correlation: Floats, slope: Floats, active: np.ndarray, level: float
) -> tuple[float, int]:
    """Return the length of the current piece of the path, and the coordinate that leaves at its end (-1: none)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (level - correlation) / (1 - slope), (level + correlation) / (1 + slope)
        zero = -gamma / step
    tiny = 1e-12 * max(level, np.finfo(np.float64).tiny)
    joining = np.concatenate([up[~active], down[~active]])
    joining = joining[np.isfinite(joining) & (joining > tiny)]
    leaving = np.where(active & (zero > tiny) & np.isfinite(zero), zero, np.inf)
    length = min(level, joining.min(initial=np.inf))
    leaver = int(np.argmin(leaving))
    return (float(leaving[leaver]), leaver) if leaving[leaver] < length else (float(length), -1)


@dataclass(frozen=True, slots=True)
class PenalisedLasso(Estimator):
    """Minimise mean (y - a - z.gamma)^2 / 2 + alpha sum_j s_j |gamma_j|, s_j the deviation of coordinate j in the rows.

    This is `sklearn.linear_model.Lasso` after a `StandardScaler`, as in the package `context-cite`, whose alpha is .01.
    `alpha` is absolute, in units of the response, and stays the same however many rows there are.

    Notes
    -----
    The solver is that of `mase.estimators.sparse`, stopped where the correlations reach alpha. The covariance is the
    same jackknife.
    """

    alpha: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < np.inf:
            raise OptionError(f"alpha is {self.alpha}, expected a finite number >= 0")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its jackknife covariance; the penalty sets some coefficients to exactly 0."""
        z, y = problem.centred()
        gamma = self._solved(z, y)
        nothing = None if gamma.any() else self._below(z, y)
        taken = f"what the penalty takes, which an alpha below {self.alpha:g} reduces" if self.alpha else None
        spread = jackknifed(z, y, self._solved)
        return Estimate(gamma, spread, float(np.count_nonzero(gamma)), nothing, penalty=taken)

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` alone."""
        return self._solved(*problem.centred())

    def _solved(self, z: Floats, y: Floats) -> Floats:
        """Return the coefficients `(p,)` from centred rows."""
        scaled, deviations = _standardised(z)
        gamma = solve_lasso(Gram.of_rows(scaled / np.sqrt(len(y))), scaled.T @ y / len(y), penalty=self.alpha)
        return gamma / deviations

    def _below(self, z: Floats, y: Floats) -> str | None:
        """Return that the penalty alone makes all coefficients 0; None if without it they were rounding."""
        largest = float(np.abs(_standardised(z)[0].T @ y).max(initial=0.0)) / len(y)
        if largest <= _ROUNDING * float(np.abs(y).max()):
            return None
        return (
            f"no effect is above the penalty of {self.alpha:g}, in the unit of the response, so all scores are 0; use "
            f"mase.methods.resolve(NAME, estimator='penalised-lasso(alpha={largest / 100:.1g})')"
        )


def _standardised(z: Floats) -> tuple[Floats, Floats]:
    """Return centred rows `(n, p)` divided by the deviations of their coordinates, and these `(p,)`."""
    deviations = np.sqrt((z**2).mean(axis=0))
    deviations = np.where(deviations > 0, deviations, 1.0)
    return z / deviations, deviations


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


@dataclass(frozen=True, slots=True)
class Sparse(Estimator):
    """min |g|_1 subject to |b - Sigma g|_inf <= tol, with b = (1/N) sum_i y_i z_i (Eq. lp).

    Parameters
    ----------
    tol
        The tolerance, which is L in the paper, where it has no value. A number, or ``"auto"`` for the universal
        threshold sd(y z) sqrt(2 log p / N).
    relative
        Whether a number is a share of max |b|. The default, 0.1 relative, follows the authors' earlier code (LEG).
    gram
        ``"law"`` uses Sigma, the covariance of the distribution, as the paper does. ``"empirical"`` uses the second
        moments of the sample: the Dantzig selector (Candes and Tao 2007). On a linear model of few words its error is
        smaller if the tolerance is small. With ``tol="auto"`` the error is that of ``"law"``.

    Notes
    -----
    For a diagonal Sigma the program separates into soft thresholds. The remaining words then rank exactly as under
    Theorem 1. Standard errors are those of the estimate of Theorem 1, before thresholding.
    """

    tol: float | Literal["auto"] = 0.1
    relative: bool = True
    gram: Literal["law", "empirical"] = "law"
    needs_base: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.tol != "auto" and not (isinstance(self.tol, int | float) and 0 <= self.tol < np.inf):
            raise OptionError(f"tol is {self.tol!r}, expected a finite number >= 0 or 'auto'")
        if self.gram not in ("law", "empirical"):
            raise OptionError(f"gram is {self.gram!r}, expected 'law' or 'empirical'")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)`; the tolerance sets some coefficients to exactly 0."""
        terms = moment_rows(problem)
        b = terms.mean(axis=0)
        tolerance = self._tolerance(problem, terms, b)
        if self.gram == "empirical":
            share = problem.weights / problem.weights.sum()
            gamma = minimum_l1(Gram.of_rows(np.sqrt(share)[:, None] * problem.z), b, tolerance)
        elif problem.covariance.is_diagonal:
            gamma = soft_threshold(b, tolerance, problem.covariance.deviations**2)
        else:
            gamma = minimum_l1(problem.covariance.matrix(), b, tolerance)
        return Estimate(gamma, Moment().fit(problem).covariance, dof(problem, gamma, problem.covariance.solve(terms)))

    def _tolerance(self, problem: Problem, terms: Floats, b: Floats) -> float:
        if self.tol == "auto" and problem.unlimited:
            return 0.0
        if self.tol == "auto":
            n, p = terms.shape
            return float(terms.std(axis=0).max() * np.sqrt(2 * np.log(max(p, 2)) / n))
        return float(self.tol * np.abs(b).max(initial=0.0)) if self.relative else float(self.tol)


def soft_threshold(b: Floats, tol: float, variances: Floats) -> Floats:
    """Return the solution `(p,)` of Eq. lp for Sigma = diag(variances): sign(b) max(|b| - tol, 0) / variance."""
    return np.asarray(np.sign(b) * np.maximum(np.abs(b) - tol, 0.0) / variances)
