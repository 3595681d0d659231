"""Least squares with a bound on the L1 norm, solved exactly along the regularisation path."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from mase.arrays import Floats
from mase.errors import OptionError
from mase.estimators.gram import Gram
from mase.regression.covariance import scatter, widening
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["Lasso", "jackknifed", "solve_lasso"]

# Number of groups of the jackknife.
_FOLDS = 10
# A coordinate is linearly dependent if the part of its norm that the others do not span is below this share.
_RANK_TOLERANCE = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Lasso:
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
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

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
