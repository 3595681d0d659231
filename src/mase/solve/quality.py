"""How good a fit is: R², held out and split half, interactions, and the notes about them.

Nothing is evaluated for them: the rows are those of the regression. See `docs/mathematics.md`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtr, stdtrit

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import LISTED, Interaction, Note
from mase.links import Contrast
from mase.responses import respond
from mase.solve.distributions import centred, on_means
from mase.solve.oracle import Oracle
from mase.solve.problem import Estimate, Estimator, Problem, Sample
from mase.solve.strategy import Stopping
from mase.statistics import holm

# Warn below these thresholds. The second is such that as many validation texts have the note as before. Below the
# third, of held-out R^2, the strongest scores under a prior are mostly too near 0.
_POOR_R2 = 0.5
_UNSTABLE = 0.78
_LOW_SCORES_R2 = 0.4

# Round to 9 digits before ranking, so that floating-point noise does not order words.
_DIGITS = 9

# Above this probability a float32 softmax leaves few digits for differences, if masking does not lower it either: then
# scores, which are differences of probabilities, are below one percentage point.
_SATURATED = 0.999
_TINY = 0.01

# Where no row changes the probability or the log-odds by so much, nothing matters.
_TRIFLE, _TRIFLE_OF_ODDS = 0.001, 0.05

# Scores below this share of the change in response are rounding.
_ROUNDING = 1e-9

# A spread of responses below this share of their magnitude is rounding.
_NOISE = 1e-12

_LOW = (
    "; with so poor a fit the strongest scores are mostly too near 0, which their intervals do not count; a larger "
    "n_samples mostly finds stronger ones"
)


def adjusted_r2(sample: Sample, responses: Floats, estimate: Estimate) -> float | None:
    """Return adjusted R^2: the share of the variance of the responses `(n,)` that gamma explains.

    It is adjusted for the degrees of freedom of gamma. A constant is always fitted as well; for rows of several
    components, one constant for each, so that R^2 is of the variance within components; for rows along a path, one
    constant per mirrored pair. A mirrored pair is split into a half difference, to which the coefficients are fitted,
    and a half sum, which they cannot explain. Each has its own degrees of freedom. The result is None if gamma fits any
    responses, because there are no more rows than coefficients, as in occlusion, or if the responses do not vary.
    """
    if np.ptp(responses) == 0 or not sample.deviations.any():
        return None
    problem = sample.problem(responses, None)
    if not problem.unlimited and problem.n - problem.n_intercepts - estimate.dof < 1:
        return None
    sampled = int(not sample.exhaustive)  # An exhaustive sample needs no adjustment.
    free = problem.n - problem.n_intercepts * sampled
    used = estimate.dof * sampled
    left = problem.squares(problem.y - problem.z @ estimate.gamma) / (free - used)
    total = problem.squares(problem.y) / free
    even = unexplained_halves(sample, responses, problem.weights, sampled)
    return share_explained(left + even, total + even, responses)


def unexplained_halves(sample: Sample, responses: Floats, weights: Floats, ddof: int) -> float:
    """Return sum w (v - mean)^2 / (n - ddof) of the half sums v `(n,)` of mirrored pairs about a common centre."""
    if not sample.paired or sample.center is None:
        return 0.0
    halves = ((responses[0::2] + responses[1::2]) / 2)[sample.n_exact :]
    centre = np.average(halves, weights=weights)
    return float(weights @ (halves - centre) ** 2 / (len(halves) - ddof))


def share_explained(left: float, total: float, responses: Floats) -> float | None:
    """Return the share of the `total` variance that is not `left`; None if responses `(n,)` vary by rounding only."""
    return 1 - left / total if total > (_NOISE * float(np.abs(responses).max())) ** 2 else None


def split_half(problem: Problem, estimator: Estimator, gamma: Floats) -> float | None:
    """Return how well estimates from the even and the odd rows recover the strongest of the scores `(p,)`.

    Take the k scores of largest magnitude. For each half, compute the share of their summed magnitude that belongs to
    coordinates which are also among the k strongest of that half (ties included). The result is the mean over both
    halves. It is None if a half is too small or all scores are 0.
    """
    if problem.n // 2 < problem.p + 3 or problem.p < 3:
        return None
    k = _strongest(problem.p)
    first = np.argsort(-np.abs(gamma), kind="stable")[:k]
    strength = np.abs(gamma[first])
    if not strength.any():
        return None
    rows = [problem.rows(slice(start, None, 2)) for start in (0, 1)]
    halves = [estimator.draft(half) for half in rows]
    return float(np.mean([strength[_in_top(half, k)[first]].sum() / strength.sum() for half in halves]))


def _strongest(p: int) -> int:
    """Return how many of p coordinates count as the strongest: as many as a screen lists, at most half of them."""
    return min(LISTED, p // 2)


def _in_top(values: Floats, k: int) -> Bools:
    """Return which of the values `(p,)` are among the k of largest magnitude, ties included and zeros excluded."""
    strength = np.abs(values)
    strength = np.round(strength / (strength.max() or 1.0), _DIGITS)
    return np.asarray((strength >= np.sort(strength)[-k]) & (strength > 0))


def condition(problem: Problem) -> float | None:
    """Return the condition number of the second moments of the rows relative to Sigma; None if they are singular."""
    if problem.n < problem.p:
        return None
    z, _ = problem.centred()
    whiten = problem.covariance.whiten
    spread = np.linalg.eigvalsh(whiten(whiten(z.T @ z).T))
    return float(spread[-1] / spread[0]) if spread[0] > 1e-12 * spread[-1] else None


def quality_notes(
    oracle: Oracle,
    sample: Sample,
    responses: Floats,
    estimate: Estimate,
    stopping: Stopping,
    r2: float | None,
    held_out: float | None,
    halves: float | None,
    class_scores: Floats,
    *,
    gradients: bool,
) -> Iterator[Note]:
    """Yield the notes about the quality of the scores, from the `class_scores` `(n, k)` of all rows."""
    n_rows, n_coordinates = sample.coordinates.shape
    same = constant(responses, oracle.text, estimate, gradients=gradients)
    if same is not None:
        yield Note("constant", same)
        return
    # A score of scaled vectors is a slope, for which the rows need not move the response.
    if oracle.binary and (trifle := negligible(oracle, class_scores)) is not None:
        yield Note("negligible", trifle)
        return
    if estimate.fallback is not None:
        yield Note("fallback", estimate.fallback)
    independent = n_rows // 2 if sample.paired else n_rows
    if estimate.prior and n_rows < n_coordinates:
        yield Note("few-samples", _shrunk(n_rows, n_coordinates))
    elif not estimate.prior and not gradients and not sample.exhaustive and independent < 2 * (n_coordinates + 3):
        yield Note("few-samples", _too_few(n_rows, n_coordinates, (8 if sample.paired else 4) * (n_coordinates + 3)))
    share, which = (r2, "") if held_out is None else (held_out, " that the fit left out")
    if share is not None and share < _POOR_R2:
        told = f"{max(share, 0):.0%} of the variance of the model's responses to changed copies of this text{which}"
        noisy = oracle.binary and oracle.known is None
        low = _LOW if estimate.prior and held_out is not None and held_out < _LOW_SCORES_R2 and not noisy else ""
        rest = _rest(sample, estimate.penalty, noisy=noisy)
        yield Note("poor-fit", f"the scores explain {told}; the rest is {rest}{low}")
    if halves is not None and halves < _UNSTABLE:
        k = _strongest(n_coordinates)
        ended = stopping.ruled and stopping.enough(oracle.of_units(estimate))
        more = "a tighter stopping rule, or none" if ended else "a larger n_samples"
        strongest = f"{k} strongest units" if k > 1 else "strongest unit"
        yield Note(
            "unstable",
            f"half of the samples recovers {halves:.0%} of the {strongest}, weighted by score; use {more}",
        )
    tiny = float(np.abs(estimate.gamma).max(initial=0.0)) < _TINY
    if tiny and oracle.link == "probability" and max(oracle.probability, 1 - oracle.probability) > _SATURATED:
        yield Note(
            "saturated",
            f"the probability {oracle.probability:.6f} is saturated, so the scores are tiny; use "
            "link='log-probability' or link='margin'",
        )
    reversed_share = 0.0 if oracle.binary else float((sample.coordinates < 0).mean())
    if reversed_share > 0:
        yield Note(
            "reversed",
            f"{reversed_share:.2%} of the sampled scales were negative, which reverses a word vector"
            + ("; use a smaller sigma" if sample.center is not None else ""),
        )


def _rest(sample: Sample, penalty: str | None, *, noisy: bool) -> str:
    """Return what the scores do not explain; `penalty` is that of the estimate."""
    causes = ["noise of the model, which is no fault of the scores"] if noisy else []
    if sample.coordinates.shape[1] > 1:
        causes.append("interactions between units")
    if not sample.exhaustive:
        causes.append("sampling error, which a larger n_samples reduces")
    if penalty is not None:
        causes.append(penalty)
    return ", or ".join(causes) or "noise of the model"


def _too_few(n_rows: int, n_coordinates: int, enough: int) -> str:
    """Return the message for too few rows."""
    if n_rows > n_coordinates:
        return f"{n_rows:,} samples are few for {n_coordinates:,} units; use n_samples >= {enough}"
    return (
        f"{n_rows:,} samples cannot separate the effects of {n_coordinates:,} units: those that are mostly "
        f"masked together share their scores; use n_samples >= {enough}"
    )


def _shrunk(n_rows: int, n_coordinates: int) -> str:
    """Return the message for fewer rows than coordinates under a prior."""
    return (
        f"{n_rows:,} samples are fewer than the {n_coordinates:,} units: their scores are drawn to 0, which their "
        f"intervals do not count; use n_samples >= {2 * n_coordinates}"
    )


def negligible(oracle: Oracle, scores: Floats) -> str | None:
    """Return the message for class scores `(n, k)` of rows that hardly differ from those of the text; else None."""
    output = oracle.probe.output
    if not output.has_classes:
        return None
    every = np.concatenate([oracle.start, scores])
    in_probability = (oracle.link.link if isinstance(oracle.link, Contrast) else oracle.link) == "probability"
    own = (oracle.link, _TRIFLE if in_probability else _TRIFLE_OF_ODDS)
    for link, least in (("probability", _TRIFLE), ("logit", _TRIFLE_OF_ODDS), own):
        changes = respond(every, output, link, oracle.target)
        if np.abs(changes[1:] - changes[0]).max(initial=0.0) >= least:
            return None
    return (
        f"no copy of the text that was asked changes the probability by {_TRIFLE} or the log-odds by {_TRIFLE_OF_ODDS}"
    )


def constant(responses: Floats, text: float, estimate: Estimate, *, gradients: bool) -> str | None:
    """Return the message for responses `(n,)` that are all the same, and thus for scores of 0; None if they are not.

    An estimate from `gradients` may have other scores all the same.
    """
    if gradients and estimate.gamma.any():
        return None
    spread = np.ptp(responses)
    if 0 < spread <= _NOISE * float(np.abs(responses).max()):
        return "the model's responses to all perturbations differ only by rounding: all scores are 0"
    if spread == 0 and responses[0] == text:
        return "no perturbation of this method changed the model's response: all scores are 0"
    if spread == 0 and np.abs(estimate.gamma).max(initial=0.0) <= _ROUNDING * abs(responses[0] - text):
        return (
            "all perturbations gave the same response, which differs from that of the text: they are too strong to "
            "separate the effects of words, and all scores are 0; use method='occlusion'"
        )
    return None


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
        gamma = estimator.solve(rest)
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


# All pairs of so many coordinates are tried, those of the largest coefficients: each pair more costs power.
_MOST_UNITS = 10

# The probability that any pair of a text is found although none interacts.
_LEVEL = 0.05

# The share of the variance of the responses that a pair must explain to matter.
_LEAST_SHARE = 0.01

# Residual degrees of freedom per coefficient, as in `mase.estimators.linear`.
_MIN_RESIDUAL_DOF = 0.5

# And at least so many: with fewer, HC3 errors of the pairs that were picked from the same rows are too small.
_LEAST_FREE = 30
_RANK_TOLERANCE = 1e-6

# Without errors, any score but 0 is certain.
_NO_ERROR = 1e-200


def interactions(sample: Sample, responses: Floats, gamma: Floats) -> tuple[Interaction, ...]:
    """Return the pairs of coordinates whose interaction in the responses `(n,)` is significant and matters.

    The pairs of the ten largest of the coefficients gamma `(p,)` are tried. Products of two coordinates, each minus its
    mean under the component of the row, are fitted together with all p coordinates by least squares. As the coins of a
    component are independent, such a product has no correlation with any function that lacks one of its coordinates. So
    its coefficient is a mean of differences of differences, whatever else is fitted. With few rows only the most
    significant pairs are fitted together.

    A pair is found if its coefficient differs from 0 at the 5 % level, with Holm's correction for all pairs that were
    tried, and if it explains at least 1 % of the variance of the responses. Found pairs are sorted by absolute score.
    There are none unless the sample has `components` of independent coins, because other rows do not tell pairs apart.
    """
    if sample.components is None or not sample.components.independent:
        return ()
    strongest = np.sort(np.argsort(-np.abs(gamma), kind="stable")[:_MOST_UNITS])
    pairs = np.array(list(combinations(strongest, 2)), dtype=np.int64).reshape(-1, 2)
    result = _Rows.of(sample, responses).found(pairs)
    return tuple(sorted(result, key=lambda pair: -abs(pair.score)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows and components with a share in their weight, as the rows of one regression without an intercept.

    Attributes
    ----------
    z, y
        Coordinates `(n, p)` and responses `(n,)` minus their means under the component of the row. Of mirrored rows
        there are the half sums of the responses.
    mains
        The columns of z that are fitted beside the products: none for mirrored rows, whose half sums do not depend on
        them.
    weights, component
        Weight of each row, and the index of its component `(n,)`.
    variance
        Of the responses under the components.
    sampled
        Whether rows were drawn.
    """

    z: Floats
    y: Floats
    mains: Floats
    weights: Floats
    component: Ints
    variance: float
    sampled: bool

    @classmethod
    def of(cls, sample: Sample, responses: Floats) -> Self:
        """Return the rows of a sample that has components."""
        assert sample.components is not None
        component, row = np.nonzero(sample.components.shares)
        weights = sample.weights[row] * sample.components.shares[component, row]
        z = centred(sample.deviations[row], weights, component)
        y = centred(responses[row], weights, component)
        mains, variance = z, float(np.average(y**2, weights=weights))
        if sample.paired:
            z, weights, component = z[0::2], weights[0::2], component[0::2]
            mains, y = z[:, :0], (y[0::2] + y[1::2]) / 2
        return cls(z, y, mains, weights, component, variance, not sample.exhaustive)

    def found(self, pairs: Ints) -> Iterator[Interaction]:
        """Yield the interactions that are found among pairs of coordinates `(q, 2)`."""
        n_fitted = self._n_fitted(len(pairs))
        if not n_fitted or not self.variance:
            return
        products = centred(self.z[:, pairs[:, 0]] * self.z[:, pairs[:, 1]], self.weights, self.component)
        root = np.sqrt(self.weights)[:, None]
        mains = _orthonormal(root * self.mains)
        if mains is None:
            return
        basis, _ = mains
        y, left = _without(basis, root[:, 0] * self.y), _without(basis, root * products)
        chosen = _most_significant(left, y, n_fitted)
        fitted = _orthonormal(left[:, chosen])
        if fitted is None:
            return
        free = len(self.y) - len(np.unique(self.component)) - basis.shape[1] - len(chosen) if self.sampled else 1
        scores, errors, squares = self._estimates(basis, *fitted, y)
        # Pairs that were not fitted count among the tried ones.
        wrong = np.ones(len(pairs))
        wrong[: len(chosen)] = 2 * stdtr(free, -np.abs(scores) / np.maximum(errors, _NO_ERROR))
        widths = stdtrit(free, 1 - _LEVEL / 2 / len(pairs)) * errors
        shares = scores**2 * squares / (self.weights.sum() * self.variance)
        for index in np.flatnonzero((holm(wrong)[: len(chosen)] <= _LEVEL) & (shares >= _LEAST_SHARE)):
            first, second = pairs[chosen[index]].tolist()
            yield Interaction((first, second), *(item[index].item() for item in (scores, errors, widths, shares)))

    def _n_fitted(self, n_pairs: int) -> int:
        """Return how many of the pairs there are enough rows for."""
        if not self.sampled:
            return n_pairs
        p = int(self.mains.shape[1])
        free = len(self.y) - len(np.unique(self.component)) - p
        return max(0, min(n_pairs, free - _LEAST_FREE, int((free - _MIN_RESIDUAL_DOF * p) / (1 + _MIN_RESIDUAL_DOF))))

    def _estimates(self, mains: Floats, basis: Floats, lower: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the coefficients `(q,)` of columns with a basis and a factor, and their HC3 errors.

        The third array `(q,)` has the sum of the squares of what each column has that no other one has.
        """
        leverage = np.square(mains).sum(axis=1) + np.square(basis).sum(axis=1) + on_means(self.weights, self.component)
        residuals = _without(basis, y) / np.maximum(1 - leverage, 1e-12)
        inverse = solve_triangular(lower, basis.T, lower=True, trans="T").T
        errors = np.sqrt(np.square(inverse * residuals[:, None]).sum(axis=0)) if self.sampled else 0.0 * lower[0]
        return inverse.T @ y, errors, 1 / np.square(inverse).sum(axis=0)


def _orthonormal(columns: Floats) -> tuple[Floats, Floats] | None:
    """Return an orthonormal basis `(n, k)` of columns and their lower factor `(k, k)`; None if they are dependent."""
    gram = columns.T @ columns
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    if (np.diag(lower) <= _RANK_TOLERANCE * np.sqrt(np.diag(gram))).any():
        return None
    return np.asarray(solve_triangular(lower, columns.T, lower=True).T), np.asarray(lower)


def _without(basis: Floats, values: Floats) -> Floats:
    """Return the part of values `(n,)` or `(n, q)` that an orthonormal basis `(n, k)` does not span."""
    return np.asarray(values - basis @ (basis.T @ values))


def _most_significant(columns: Floats, y: Floats, k: int) -> Ints:
    """Return the k columns `(n, q)` whose covariances with y `(n,)` are largest relative to their errors."""
    errors = np.sqrt(np.square(columns).T @ np.square(y))
    return np.argsort(-np.abs(columns.T @ y) / np.maximum(errors, _NO_ERROR), kind="stable")[:k]
