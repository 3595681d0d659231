"""Least squares, ridge regressions, constrained regression, and the closed forms of Theorem 1."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.linalg.lapack import dpotrs, dtrtri

from mase.arrays import Floats
from mase.errors import CapabilityError, OptionError
from mase.solve.distributions import MOST_CORRELATED, Covariance, on_means, scatter
from mase.solve.kernel import decomposed
from mase.solve.problem import Estimate, Estimator, Problem


def moment_rows(problem: Problem) -> Floats:
    """Return the n terms y_i z_i `(n, p)` whose mean is b of Eq. lp, with y_i = f(c_i) - f(x0)."""
    if problem.base is None:
        raise OptionError(
            "the rows of the design have no common centre, expected a design with one; use "
            "method='NAME+estimator=least-squares'"
        )
    share = problem.weights / problem.weights.mean()
    return np.asarray(((problem.y - problem.base) * share)[:, None] * problem.z)


@dataclass(frozen=True, slots=True)
class Moment(Estimator):
    """The paper's closed form (Theorem 1, Eq. lemma1): gamma = Sigma^-1 (1/N) sum_i (f(c_i) - f(x0)) z_i.

    Notes
    -----
    Its relative error is sqrt((p+1)/N) even for an exactly linear model, because the second moments of the sample are
    not Sigma. `LeastSquares` estimates the same quantity without that error. This estimator reproduces the paper.
    """

    needs_base: ClassVar[bool] = True

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its covariance as the mean of n independent terms."""
        terms = problem.covariance.solve(moment_rows(problem))
        spread = terms - terms.mean(axis=0)
        gamma = terms.mean(axis=0)
        return Estimate(gamma, scatter(spread) / (problem.n * max(problem.n - 1, 1)), dof(problem, gamma, terms))


def dof(problem: Problem, gamma: Floats, terms: Floats) -> float:
    """Return the degrees of freedom of coefficients `(p,)` that are a mean of terms `(n, p)`, one for each row.

    The coefficients are not fitted to the responses, so p would be far too many. Without row i the mean changes by
    (mean - term i) / (n - 1), which gives the leave-one-out residual of the row. The returned number makes the adjusted
    mean square of the residuals equal to that of the leave-one-out residuals. It is negative if the term of a row
    overshoots its response, as happens with many words.
    """
    if problem.n < 2:
        return float(problem.p)
    changes = (terms.mean(axis=0) - terms) * (gamma != 0) / (problem.n - 1)
    residuals = problem.y - problem.z @ gamma
    loo_residuals = residuals - np.einsum("np,np->n", problem.z, changes)
    in_sample, left_out = map(problem.squares, (residuals, loo_residuals))
    return (problem.n - problem.n_intercepts) * (1 - in_sample / left_out) if left_out > 0 else 0.0


@dataclass(frozen=True, slots=True)
class MeanGradient(Estimator):
    """gamma = sum_i w_i grad_c F(c_i) / sum_i w_i.

    For Gaussian z and equal weights this is Theorem 1's estimand: Sigma^-1 E[(F(1+z) - F(1)) z] = E[grad F(1+z)]
    (Stein).

    It is not model-agnostic, because it needs gradients. With the zero reference, component i is the mean of
    <e_i, df/de_i>, which is SmoothGrad times input with multiplicative noise. With the nodes and weights of a
    quadrature along the path from the reference, it is integrated gradients.
    """

    needs_gradients: ClassVar[bool] = True

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with the covariance of a weighted mean.

        No degrees of freedom are used, because no response is fitted.

        Raises
        ------
        CapabilityError
            If the problem has no gradients.
        """
        if problem.gradients is None:
            raise CapabilityError(
                "estimator 'mean-gradient' needs gradients, got responses only; use "
                "method='NAME+estimator=least-squares'"
            )
        gamma = np.average(problem.gradients, axis=0, weights=problem.weights)
        spread = (problem.gradients - gamma) * (problem.weights / problem.weights.mean())[:, None]
        return Estimate(gamma, scatter(spread) / (problem.n * max(problem.n - 1, 1)), 0.0)


# Losses within this share of the minimum are ties.
_TIE = 1e-9

# A penalty must leave at least this share of the degrees of freedom of the rows.
_RIDGE_MIN_RESIDUAL_DOF = 0.2


@dataclass(frozen=True, slots=True)
class Ridge(Estimator):
    """Minimise mean (y - a - z.gamma)^2 + penalty * sum_j (s_j gamma_j)^2, s_j the standard deviation of coordinate j.

    This works with fewer rows than coordinates. `penalty` is a number >= 0, or ``"gcv"`` for the minimiser of
    generalised cross-validation (Golub, Heath and Wahba 1979). A number is relative to coordinates of unit standard
    deviation.
    """

    penalty: float | Literal["gcv"] = "gcv"

    def __post_init__(self) -> None:
        if self.penalty != "gcv" and not (isinstance(self.penalty, int | float) and 0 <= self.penalty < np.inf):
            raise OptionError(f"penalty is {self.penalty!r}, expected a finite number >= 0 or 'gcv'")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)`; its covariance is a sandwich plus a term for the shrinkage bias.

        The second term is the part of a prior N(0, tau^2) that the rows do not determine: tau^2 (I - H) in units of
        the standard deviations, with H the shrinkage matrix. tau^2 = |y|^2 / |z|^2 attributes all variance of the
        responses to the coordinates, which is conservative.
        """
        z, y = problem.centred()
        decomposition = self._decomposition(problem, z, y)
        u, s, vt, shrink = decomposition
        deviations = problem.covariance.deviations
        gamma = _gamma(decomposition, y, deviations)
        leverage = (u * u) @ (s * shrink)
        residuals = (y - z @ gamma) / np.maximum(1 - leverage, 0.05)  # Limit the weight of one row to a factor of 20.
        spread = (u * residuals[:, None] * shrink) @ vt / deviations
        prior = float(y @ y) / max(float(s @ s), np.finfo(np.float64).tiny)
        undetermined = _identity(problem.p) - scatter(np.sqrt(s * shrink)[:, None] * vt)
        if undetermined.ndim == 2:  # rounding may leave variances below 0
            np.fill_diagonal(undetermined, np.maximum(np.diag(undetermined), 0))
        undetermined = np.maximum(undetermined, 0) if undetermined.ndim == 1 else undetermined
        scale = deviations**2 if undetermined.ndim == 1 else np.outer(deviations, deviations)
        dof = float((s * shrink).sum())
        return Estimate(gamma, scatter(spread) + prior * undetermined / scale, dof, leverages=leverage)

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` without its covariance."""
        z, y = problem.centred()
        return _gamma(self._decomposition(problem, z, y), y, problem.covariance.deviations)

    def _decomposition(self, problem: Problem, z: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the singular value decomposition of standardised z, and the shrunk inverses of the singular values.

        The shapes are u `(n, r)`, s `(r,)`, v' `(r, p)` and `(r,)`.
        """
        u, s, vt = decomposed(z / problem.covariance.deviations)
        keep = s > s.max(initial=0.0) * 1e-12
        u, s, vt = u[:, keep], s[keep], vt[keep]
        return u, s, vt, s / (s**2 + problem.n * self._chosen(problem, u, s, y))

    def _chosen(self, problem: Problem, u: Floats, s: Floats, y: Floats) -> float:
        """Return the penalty; the larger the sample, the smaller is the one that cross-validation chooses."""
        if self.penalty != "gcv":
            return float(self.penalty)
        return 0.0 if problem.unlimited else _gcv(u, s, y, problem.n_intercepts)


def _gamma(decomposition: tuple[Floats, Floats, Floats, Floats], y: Floats, deviations: Floats) -> Floats:
    u, _, vt, shrink = decomposition
    return np.asarray(vt.T @ (shrink * (u.T @ y)) / deviations)


def _identity(p: int) -> Floats:
    """Return the identity in the shape of `scatter`."""
    return np.eye(p) if p <= MOST_CORRELATED else np.ones(p)


def _gcv(u: Floats, s: Floats, y: Floats, n_intercepts: int) -> float:
    """Return the penalty that minimises n RSS / (n - dof)^2 over a grid of 60 from 1e-8 to 1e2 times the mean s^2 / n.

    Ties go to the smallest penalty: with fewer orthogonal rows than coordinates all penalties are equally good, and a
    large one only shrinks the scores. Penalties that leave less than a fifth of the degrees of freedom are excluded:
    with about as many rows as coordinates they interpolate the responses, which the criterion may take for a perfect
    fit.
    """
    n, projected = len(y), u.T @ y
    unexplained = max(float(y @ y - projected @ projected), 0.0)
    if not len(s):
        return 1.0
    grid = np.geomspace(1e-8, 1e2, 60)[:, None] * (s**2).mean() / n
    shrinkage = s**2 / (s**2 + n * grid)
    rss = unexplained + (((1 - shrinkage) * projected) ** 2).sum(axis=1)
    free = np.maximum(n - n_intercepts - shrinkage.sum(axis=1), 1e-9 * n)
    loss = np.where(free >= _RIDGE_MIN_RESIDUAL_DOF * (n - n_intercepts), rss / free**2, np.inf)
    return float(grid[np.flatnonzero(loss <= loss.min() * (1 + _TIE))[0], 0])


# A coordinate is linearly dependent if the part of its norm that the others do not span is below this share.
_RANK_TOLERANCE = 1e-6

# Least squares ranks words worse than ridge regression if n - p is below this multiple of p.
_LEAST_SQUARES_MIN_RESIDUAL_DOF = 0.5


@dataclass(frozen=True, slots=True)
class LeastSquares(Estimator):
    """Ordinary or weighted least squares with heteroscedasticity-consistent (HC3) covariance.

    It is unbiased for a model that is linear in the coordinates, and consistent for the estimand of Theorem 1 in
    general. Its variance grows without bound as the number of rows decreases to the number of coefficients p. With
    fewer than p / 2 rows beyond p, ridge regression is used instead, and the `fallback` of the estimate says so. This
    does not apply to all rows that there are, whose coefficients have no variance.

    Rows that every draw has, as all coalitions of one word in Kernel SHAP, are part of the fit and not of its variance.

    Notes
    -----
    The normal equations are solved with one step of refinement, which recovers the digits lost in forming z'z
    (corrected seminormal equations, Bjorck 1987). This takes a tenth of the time of a Householder QR.
    """

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance (MacKinnon and White 1985), with rows as independent units."""
        if _too_few(problem):
            return _ridge(problem, f"{problem.n} independent samples are too few for {problem.p} coefficients")
        z, y = problem.centred()
        lower = _factor(z.T @ z)
        if lower is None:
            return _ridge(problem, "the samples cannot separate the effects of all words")
        gamma = _solved(lower, z, y)
        root = dtrtri(lower, lower=True)[0].T
        residuals, q = y - z @ gamma, z @ root
        leverages = np.einsum("np,np->n", q, q)
        of_noise = None
        if problem.unlimited and problem.p <= MOST_CORRELATED:
            of_noise = root @ ((q * problem.weights[:, None]).T @ q) @ root.T
        q *= _jackknifed(residuals, leverages, problem)[:, None]
        covariance = root @ (q.T @ q) @ root.T if problem.p <= MOST_CORRELATED else scatter(q @ root.T)
        return Estimate(gamma, covariance, float(problem.p), leverages=leverages, of_noise=of_noise)

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` without its covariance."""
        if not _too_few(problem):
            z, y = problem.centred()
            lower = _factor(z.T @ z)
            if lower is not None:
                return _solved(lower, z, y)
        return Ridge().solve(problem)


def _jackknifed(residuals: Floats, leverages: Floats, problem: Problem) -> Floats:
    """Return residuals divided by 1 - leverage, and 0 for rows that every draw has."""
    if problem.intercept:
        leverages = leverages + on_means(problem.weights, problem.groups)
    drawn = np.arange(problem.n) >= problem.n_certain
    return np.asarray(drawn * residuals / np.maximum(1 - leverages, 1e-12))


def _too_few(problem: Problem) -> bool:
    """Return whether there are too few residual degrees of freedom for least squares."""
    residual_dof = problem.n - problem.p - problem.n_intercepts
    return not problem.unlimited and residual_dof < max(2, _LEAST_SQUARES_MIN_RESIDUAL_DOF * problem.p)


def _factor(gram: Floats) -> Floats | None:
    """Return the Cholesky factor L `(p, p)` of z'z = LL'; None if z'z is rank deficient."""
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    determined = np.diag(lower) > _RANK_TOLERANCE * np.sqrt(np.diag(gram))
    return np.asarray(lower) if determined.all() else None


def _solved(lower: Floats, z: Floats, y: Floats) -> Floats:
    """Return (z'z)^-1 z'y from the Cholesky factor of z'z, with one step of iterative refinement."""
    gamma, _ = dpotrs(lower, z.T @ y, lower=True)
    step, _ = dpotrs(lower, z.T @ (y - z @ gamma), lower=True)
    return np.asarray(gamma + step)


def _ridge(problem: Problem, reason: str) -> Estimate:
    estimate = Ridge().fit(problem)
    fallback = f"{reason}: ridge regression was used; use a larger n_samples"
    return replace(estimate, fallback=fallback)


@dataclass(frozen=True, slots=True)
class FixedRidge(Estimator):
    """Minimise sum_i w_i (y_i - a - z_i.gamma)^2 + alpha |gamma|^2, as `sklearn.linear_model.Ridge` does.

    The penalty is absolute, as in the `lime` package (alpha = 1), so it shrinks less with more rows, and not at all if
    all rows that there are stand for a sample without end.
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise OptionError(f"alpha is {self.alpha}, expected a finite number > 0")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its sandwich covariance (HC3), which does not include the bias of the penalty."""
        if problem.unlimited:
            return LeastSquares().fit(problem)
        z, y = problem.centred()
        to_gamma = _to_gamma(z, self.alpha)
        gamma = to_gamma @ y
        leverage = np.einsum("np,pn->n", z, to_gamma)
        on_mean = on_means(problem.weights, problem.groups) if problem.intercept else 0.0
        residuals = (y - z @ gamma) / np.maximum(1 - leverage - on_mean, 1e-6)
        spread = to_gamma * residuals
        return Estimate(gamma, scatter(spread.T), float(leverage.sum()), leverages=leverage)


def _to_gamma(z: Floats, alpha: float) -> Floats:
    """Return (Z'Z + alpha I)^-1 Z' = Z' (ZZ' + alpha I)^-1 `(p, n)`, by solving the smaller of the two systems."""
    n, p = z.shape
    if p <= n:
        return np.asarray(np.linalg.solve(z.T @ z + alpha * np.eye(p), z.T))
    return np.asarray(np.linalg.solve(z @ z.T + alpha * np.eye(n), z).T)


@dataclass(frozen=True, slots=True)
class Constrained(Estimator):
    """Weighted least squares subject to Z0 gamma = y0, the exact rows of the problem.

    With the rows of `mase.designs.coalitions` the exact row is text minus reference, so the scores sum to F(1) -
    F(0). The
    solution is then Kernel SHAP (Theorem 2 of Lundberg and Lee 2017), and equals the Shapley values if all coalitions
    are evaluated. Without exact rows it is `LeastSquares`.
    """

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance, which is zero in the direction of the exact rows."""
        if problem.exact is None:
            return LeastSquares().fit(problem)
        rows, values = problem.exact
        start: Floats = np.linalg.pinv(rows) @ values
        if problem.p > max(MOST_CORRELATED, problem.n):
            return _projected(problem, start, rows)
        free = _null_space(rows)
        if not free.shape[1]:
            return Estimate(start, np.zeros((problem.p, problem.p)), 0.0)
        reduced = _reduced(problem, start, free)
        fitted = LeastSquares().fit(reduced)
        of_noise = None if fitted.of_noise is None else free @ fitted.of_noise @ free.T
        gamma, covariance = start + free @ fitted.gamma, free @ fitted.covariance @ free.T
        return replace(fitted, gamma=gamma, covariance=covariance, of_noise=of_noise)


def _projected(problem: Problem, start: Floats, rows: Floats) -> Estimate:
    """Return the ridge solution with fewer rows than coefficients, relative to a solution of the exact rows `(m, p)`.

    The regressors are projected onto the null space of the exact rows. With equal standard deviations, the ridge
    solution lies in the span of the regressors, so it satisfies the exact rows. This avoids a basis of the null space,
    which would be an array `(p, p)`.
    """
    z = problem.z - (problem.z @ np.linalg.pinv(rows)) @ rows
    equal = Covariance(np.full(problem.p, float(problem.covariance.deviations.mean())))
    projected = replace(problem, z=z, y=problem.y - problem.z @ start, covariance=equal, exact=None)
    fitted = LeastSquares().fit(projected)
    return replace(fitted, gamma=start + fitted.gamma)


def _null_space(rows: Floats) -> Floats:
    """Return an orthonormal basis `(p, p - m)` of the null space of the exact rows `(m, p)`."""
    _, s, vt = decomposed(rows, whole=True)
    return np.asarray(vt[int((s > 1e-10 * s.max()).sum()) :].T)


def _reduced(problem: Problem, start: Floats, free: Floats) -> Problem:
    """Return the problem in the coordinates of the null space, relative to a solution of the exact rows."""
    matrix = free.T @ problem.covariance.matrix() @ free
    distribution = Covariance(np.sqrt(np.diag(matrix)))
    return replace(
        problem,
        z=problem.z @ free,
        y=problem.y - problem.z @ start,
        covariance=distribution,
        gradients=None,
        exact=None,
    )
