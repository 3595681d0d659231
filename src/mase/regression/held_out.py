"""R2 on rows that were left out of the fit, at no cost in evaluations."""

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.regression.diagnostics import coefficients, share_explained, unexplained_halves
from mase.regression.estimate import Estimate
from mase.regression.estimator import Estimator
from mase.regression.intercepts import centred, on_means
from mase.regression.problem import Problem, Sample

__all__ = ["held_out_r2"]

# An estimator without leverages is fitted again, each time without a fifth of the rows.
_FOLDS = 5
# Rows without which a coefficient is undetermined have a leverage of 1, up to rounding.
_UNDETERMINED = 1e-9


def held_out_r2(
    sample: Sample, responses: Floats, problem: Problem, estimator: Estimator, estimate: Estimate
) -> float | None:
    """Return the share of the variance of responses `(n,)` within rounds that the scores predict in rows left out.

    Each row is predicted by a fit without it and all rows equal to it. This follows from the leverages if the estimate
    has them; a penalty is taken as given. Otherwise it is a fit without a fifth of the rows. The errors are compared
    with the variance within the rounds of the design, so that what differs between rounds does not count as explained.
    A constant is always fitted as well. The half sums of mirrored pairs are not explained, as in `adjusted_r2`.

    The expected result is that of fresh rows of the same rounds. It is None if all possible rows were asked, if there
    are too few different rows, or if the responses do not vary. Rows without which a coefficient is undetermined
    cannot be predicted, and a single row of a round has no variance: they are left out.
    """
    if sample.exhaustive or not sample.deviations.any():
        return None
    turned = _turns(problem)
    groups = _groups(problem.z * turned[:, None])
    if groups.max() < 2 * _FOLDS:
        return None
    if estimate.changes is not None:
        errors = _changed(problem, estimate.gamma, estimate.changes, groups)
    elif estimate.leverages is None or _spread_over_intercepts(problem, groups):
        errors = _refitted(problem, estimator, groups)
    else:
        errors = _left_out(problem, estimate.gamma, estimate.leverages, groups, turned)
    rounds = _rounds(sample) if problem.groups is None else problem.groups
    judged = np.isfinite(errors) & (np.bincount(rounds)[rounds] > 1)
    if not judged.any():
        return None
    weights = problem.weights[judged]
    spread = _spread(problem.y[judged], weights, rounds[judged]) if problem.intercept else problem.y[judged] ** 2
    even = unexplained_halves(sample, responses, problem.weights, 1)
    left, total = (float(weights @ squares) / len(weights) + even for squares in (errors[judged] ** 2, spread))
    return share_explained(left, total, responses)


def _turns(problem: Problem) -> Floats:
    """Return -1 for rows that have to be mirrored to be equal to others, and 1 for the rest, `(n,)`."""
    if problem.intercept:
        return np.ones(problem.n)
    first = problem.z[np.arange(problem.n), (problem.z != 0).argmax(axis=1)]
    return np.where(first < 0, -1.0, 1.0)


def _groups(z: Floats) -> Ints:
    """Return the number `(n,)` of the group of equal rows that each row of `(n, p)` is in, by first appearance."""
    rows = np.ascontiguousarray(z + 0.0)  # -0.0 becomes 0.0
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, number = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number.ravel()])


def _rounds(sample: Sample) -> Ints:
    """Return the number `(n,)` of the round that each independent row is in."""
    rounds = np.searchsorted(sample.starts, np.arange(len(sample.coordinates)), side="right") - 1
    return np.asarray((rounds[0::2] if sample.paired else rounds)[sample.n_exact :])


def _left_out(problem: Problem, gamma: Floats, leverages: Floats, groups: Ints, turned: Floats) -> Floats:
    """Return the errors `(n,)` of predictions without each group; NaN where the rest does not determine them.

    In a group of equal rows with residuals r, weights w and leverages h, the prediction without them errs by
    r_i + (h_i / w_i) sum(w r) / (1 - sum(h)).
    """
    residuals = problem.y - problem.z @ gamma
    if problem.intercept:
        residuals = centred(residuals, problem.weights, problem.groups)
        leverages = leverages + on_means(problem.weights, problem.groups)
    residuals = residuals * turned
    pulled = np.bincount(groups, problem.weights * residuals)[groups]
    rest = 1 - np.bincount(groups, leverages)[groups]
    rest = np.where(rest > _UNDETERMINED, rest, np.nan)
    return np.asarray(residuals + leverages / problem.weights * pulled / rest)


def _changed(problem: Problem, gamma: Floats, changes: Floats, groups: Ints) -> Floats:
    """Return the errors `(n,)` of predictions without each group of equal rows; NaN where no other row remains.

    Without them the coefficients are gamma minus the `changes` `(n, p)`, and the intercept is that of the other rows.
    """
    labels = np.zeros(problem.n, dtype=np.int64) if problem.groups is None else problem.groups
    columns = np.column_stack([np.ones(problem.n), problem.y - problem.z @ gamma, problem.z])
    others = _sums(columns, labels) - _sums(columns, labels * (groups.max() + 1) + groups)
    n = np.where(others[:, 0] > 0, others[:, 0], np.nan)
    apart = columns[:, 1:] - others[:, 1:] / n[:, None]
    return np.asarray(apart[:, 0] + np.einsum("np,np->n", apart[:, 1:], changes))


def _sums(columns: Floats, labels: Ints) -> Floats:
    """Return for each row the sum of the rows `(n, k)` that have its label."""
    order = np.argsort(labels, kind="stable")
    begins = np.flatnonzero(np.diff(labels[order], prepend=labels.min() - 1))
    sums = np.add.reduceat(columns[order], begins, axis=0)
    return np.asarray(sums[np.searchsorted(labels[order][begins], labels)])


def _refitted(problem: Problem, estimator: Estimator, groups: Ints) -> Floats:
    """Return the errors `(n,)` of predictions by fits without a fifth of the groups."""
    errors = np.empty(problem.n)
    for fold in range(_FOLDS):
        out = groups % _FOLDS == fold
        rest = problem.rows(~out)
        gamma = coefficients(estimator, rest)
        errors[out] = problem.y[out] - problem.z[out] @ gamma
        if problem.intercept:
            errors[out] -= _intercepts(problem, ~out, gamma)[out]
    return errors


def _intercepts(problem: Problem, fitted: Bools, gamma: Floats) -> Floats:
    """Return the intercept of each row `(n,)` from the rows that are fitted; NaN where there are none."""
    groups = np.zeros(problem.n, dtype=np.int64) if problem.groups is None else problem.groups
    weights = np.where(fitted, problem.weights, 0.0)
    totals = np.bincount(groups, weights)[groups]
    sums = np.bincount(groups, weights * (problem.y - problem.z @ gamma))[groups]
    return np.asarray(np.divide(sums, totals, out=np.full(problem.n, np.nan), where=totals > 0))


def _spread_over_intercepts(problem: Problem, groups: Ints) -> bool:
    """Return whether equal rows have different intercepts, and thus different leverages."""
    if problem.groups is None:
        return False
    both = np.column_stack([groups, problem.groups])
    return bool(len(np.unique(both, axis=0)) > groups.max() + 1)


def _spread(y: Floats, weights: Floats, rounds: Ints) -> Floats:
    """Return the squared deviations `(n,)` from the mean of each row's round, whose mean is their variance."""
    _, rounds, sizes = np.unique(rounds, return_inverse=True, return_counts=True)
    means = np.bincount(rounds, weights * y) / np.bincount(rounds, weights)
    return np.asarray((y - means[rounds]) ** 2 * (sizes / np.maximum(sizes - 1, 1))[rounds])
