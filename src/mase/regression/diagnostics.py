"""How good an explanation is: fit, repeatability and condition, and the remarks that follow from them."""

from collections.abc import Iterator

import numpy as np

from mase.arrays import Bools, Floats
from mase.attribution import LISTED, Note
from mase.regression.problem import Estimate, Estimator, Problem, Sample, Solver

__all__ = ["adjusted_r2", "coefficients", "condition", "remarks", "split_half"]

# Below these a reader should not lean on the scores: remarks say so.
_POOR_R2 = 0.5
# docs/decisions/2026-11-22-unstable.md has what another threshold costs.
_UNSTABLE = 0.85
# Digits of the scores, relative to the largest, that ranks are made of: what lies below is rounding, not an order of
# words.
_DIGITS = 9
# Probability beyond which a float32 softmax leaves few digits for differences.
_SATURATED = 0.999
_ROUNDING = 1e-9
# Spread of responses, relative to their size, that is rounding alone.
_NOISE = 1e-12


def adjusted_r2(sample: Sample, responses: Floats, estimate: Estimate) -> float | None:
    """Return the share of the responses' variance `(n,)` that gamma explains, adjusted for its degrees of freedom.

    The best constant is granted; for rows along a path, the best constant per mirrored pair. Mirrored rows count as a
    half difference, which the coefficients are fitted to, and a half sum, which they cannot explain: each with its own
    degrees of freedom. None if too few rows are left, or the responses do not vary.
    """
    if np.ptp(responses) == 0 or not sample.deviations.any():
        return None
    problem = sample.problem(responses, None)
    sampled = int(not sample.exhaustive)  # of all the rows there are nothing is to be adjusted
    free = problem.n - int(problem.intercept) * sampled
    used = estimate.dof * sampled
    if free - used < 1:
        return None
    left = problem.squares(problem.y - problem.z @ estimate.gamma) / (free - used)
    total = problem.squares(problem.y) / free
    if sample.paired and sample.center is not None:
        halves = ((responses[0::2] + responses[1::2]) / 2)[sample.n_exact :]
        even = _weighted_variance(halves, problem.weights, sampled)
        left, total = left + even, total + even
    return 1 - left / total if total > (_NOISE * float(np.abs(responses).max())) ** 2 else None


def _weighted_variance(values: Floats, weights: Floats, lost: int) -> float:
    """Return sum w (v - mean)^2 / (n - lost) for values `(n,)`, in the units of the weighted squares of `adjusted_r2`."""
    centre = np.average(values, weights=weights)
    return float(weights @ (values - centre) ** 2 / (len(values) - lost))


def coefficients(estimator: Estimator, problem: Problem) -> Floats:
    """Return gamma `(p,)` as cheaply as the estimator can."""
    return estimator.solve(problem) if isinstance(estimator, Solver) else estimator.fit(problem).gamma


def split_half(problem: Problem, estimator: Estimator, gamma: Floats) -> float | None:
    """Return how far two halves of the rows, the even and the odd ones, agree about the strongest of the scores `(p,)`.

    It is the share of the summed magnitude of the k strongest scores that belongs to coordinates which a half also has
    among its k strongest (ties count as among them), the mean of both halves. None if a half is too small, or all
    scores are 0.
    """
    if problem.n // 2 < problem.p + 3 or problem.p < 3:
        return None
    k = _strongest(problem.p)
    first = np.argsort(-np.abs(gamma), kind="stable")[:k]
    strength = np.abs(gamma[first])
    if not strength.any():
        return None
    halves = [coefficients(estimator, problem.rows(slice(start, None, 2))) for start in (0, 1)]
    return float(np.mean([strength[_among(half, k)[first]].sum() / strength.sum() for half in halves]))


def _strongest(p: int) -> int:
    """Return how many of p coordinates count as the strongest: as many as a screen lists, half of them in a short text."""
    return min(LISTED, p // 2)


def _among(values: Floats, k: int) -> Bools:
    """Return which of the values `(p,)` are among the k of largest magnitude: ties are, zeros are not."""
    strength = np.abs(values)
    strength = np.round(strength / (strength.max() or 1.0), _DIGITS)
    return np.asarray((strength >= np.sort(strength)[-k]) & (strength > 0))


def condition(problem: Problem) -> float | None:
    """Return the condition number of the rows' second moments relative to Sigma; None if they do not span all coordinates."""
    if problem.n < problem.p:
        return None
    z, _ = problem.centred()
    whiten = problem.covariance.whiten
    spread = np.linalg.eigvalsh(whiten(whiten(z.T @ z).T))
    return float(spread[-1] / spread[0]) if spread[0] > 1e-12 * spread[-1] else None


def remarks(
    *,
    sample: Sample,
    responses: Floats,
    text: float,
    probability: float,
    link: str,
    r2: float | None,
    halves: float | None,
    estimate: Estimate,
    binary: bool,
    gradients: bool,
) -> Iterator[Note]:
    """Yield what a reader of the scores must know, as data."""
    n_rows, n_coordinates = sample.coordinates.shape
    same = None if gradients and estimate.gamma.any() else _sameness(responses, text, estimate)
    if same is not None:
        yield Note("constant", same)
        return
    if estimate.remark is not None:
        yield Note("fallback", estimate.remark)
    independent = n_rows // 2 if sample.paired else n_rows
    if not gradients and not sample.exhaustive and independent < 2 * (n_coordinates + 3):
        yield Note("few-samples", _too_few(n_rows, n_coordinates, (8 if sample.paired else 4) * (n_coordinates + 3)))
    if r2 is not None and r2 < _POOR_R2:
        rest = f"{'interaction of words, or ' if n_coordinates > 1 else ''}error of the scores themselves"
        yield Note(
            "poor-fit",
            f"the scores explain {max(r2, 0):.0%} of how the model answers around this text; the rest is {rest}",
        )
    if halves is not None and halves < _UNSTABLE:
        k = _strongest(n_coordinates)
        counted = f"{k} strongest words" if k > 1 else "strongest word"
        yield Note(
            "unstable",
            f"half of the sample finds {halves:.0%} of the {counted} again, counted by strength; use a larger n_samples",
        )
    if link == "probability" and max(probability, 1 - probability) > _SATURATED:
        yield Note(
            "saturated",
            f"the probability {probability:.6f} is saturated, scores are tiny; link='log-probability' or 'margin' shows more",
        )
    turned = 0.0 if binary else float((sample.coordinates < 0).mean())
    if turned > 0:
        yield Note(
            "reversed",
            f"{turned:.2%} of the scales were negative and turned a word vector around"
            + ("; a smaller sigma avoids that" if sample.center is not None else ""),
        )


def _too_few(n_rows: int, n_coordinates: int, enough: int) -> str:
    """Return what to say of so few rows for so many coordinates."""
    if n_rows > n_coordinates:
        return f"{n_rows:,} samples for {n_coordinates:,} words or tokens are few; use n_samples >= {enough}"
    return (
        f"{n_rows:,} samples cannot tell {n_coordinates:,} words or tokens apart: each score is shared with others that the "
        f"samples mostly keep or remove together; use n_samples >= {enough}"
    )


def _sameness(responses: Floats, text: float, estimate: Estimate) -> str | None:
    """Return what to say of responses `(n,)` that are all the same, None if they are not."""
    spread = np.ptp(responses)
    if 0 < spread <= _NOISE * float(np.abs(responses).max()):
        return "the model's answers differed by rounding alone under all perturbations: the scores mean nothing"
    if spread == 0 and responses[0] == text:
        return "the model's answer did not change under any perturbation: all scores are 0"
    if spread == 0 and np.abs(estimate.gamma).max(initial=0.0) <= _ROUNDING * abs(responses[0] - text):
        return (
            "the answer was the same under all perturbations, another than for the text itself: each was too strong to tell "
            "words apart and all scores are 0; use method='occlusion'"
        )
    return None
