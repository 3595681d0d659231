"""Quality of an explanation: fit, repeatability and conditioning, and the notes that follow from them."""

from collections.abc import Iterator

import numpy as np

from mase.arrays import Bools, Floats
from mase.attribution import LISTED, Note
from mase.links import respond
from mase.regression.estimate import Estimate
from mase.regression.estimator import Estimator, Planner, Solver
from mase.regression.one_thread import one_thread
from mase.regression.oracle import Oracle
from mase.regression.problem import Problem, Sample
from mase.regression.stopping import Stopping

__all__ = [
    "adjusted_r2",
    "coefficients",
    "condition",
    "constant",
    "planned",
    "quality_notes",
    "share_explained",
    "split_half",
    "unexplained_halves",
]

# Warn below these thresholds. The second is such that as many validation texts have the note as before. Below the
# third, of held-out R^2, the strongest scores under a prior are mostly too near 0 (2026-11-28-more-samples.md there).
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

    It is adjusted for the degrees of freedom of gamma. A constant is always fitted as well; for rows of several laws,
    one constant for each, so that R^2 is of the variance within laws; for rows along a path, one constant per mirrored
    pair. A mirrored pair is split into a half difference, to which the coefficients are fitted,
    and a half sum, which they cannot explain. Each has its own degrees of freedom. The result is None if gamma fits
    any responses, because there are no more rows than coefficients, as in occlusion, or if the responses do not vary.
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


@one_thread
def coefficients(estimator: Estimator, problem: Problem) -> Floats:
    """Return gamma `(p,)`, without its covariance if the estimator can skip it."""
    return estimator.solve(problem) if isinstance(estimator, Solver) else estimator.fit(problem).gamma


def planned(estimator: Estimator, problem: Problem) -> Estimate:
    """Return the estimate by which later rows are chosen: a rough one, if the estimator has it."""
    return estimator.rough(problem) if isinstance(estimator, Planner) else estimator.fit(problem)


def split_half(problem: Problem, estimator: Estimator, gamma: Floats) -> float | None:
    """Return how well estimates from the even and the odd rows recover the strongest of the scores `(p,)`.

    Take the k scores of largest magnitude. For each half, compute the share of their summed magnitude that belongs to
    coordinates which are also among the k strongest of that half (ties included). The result is the mean over both
    halves. It is None if a half is too small or all scores are 0.
    An estimator with a rough estimate is compared by that.
    """
    if problem.n // 2 < problem.p + 3 or problem.p < 3:
        return None
    k = _strongest(problem.p)
    first = np.argsort(-np.abs(gamma), kind="stable")[:k]
    strength = np.abs(gamma[first])
    if not strength.any():
        return None
    rows = [problem.rows(slice(start, None, 2)) for start in (0, 1)]
    rough = isinstance(estimator, Planner)
    halves = [planned(estimator, half).gamma if rough else coefficients(estimator, half) for half in rows]
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
    if (trifle := negligible(oracle, class_scores)) is not None:
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
        low = _LOW if estimate.prior and held_out is not None and held_out < _LOW_SCORES_R2 else ""
        yield Note("poor-fit", f"the scores explain {told}; the rest is {_rest(sample, estimate.penalty)}{low}")
    if halves is not None and halves < _UNSTABLE:
        k = _strongest(n_coordinates)
        ended = stopping.ruled and stopping.enough(estimate)
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


def _rest(sample: Sample, penalty: str | None) -> str:
    """Return what the scores do not explain; `penalty` is that of the estimate."""
    causes = ["interactions between units"] if sample.coordinates.shape[1] > 1 else []
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
    for link, least in (("probability", _TRIFLE), ("logit", _TRIFLE_OF_ODDS)):
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
