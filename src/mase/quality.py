"""How good an explanation is: fit, repeatability and condition, and the remarks that follow from them."""

from collections.abc import Iterator

import numpy as np

from mase.arrays import Floats
from mase.attribution import Note
from mase.sample import Estimate, Estimator, Problem, Sample

__all__ = ["adjusted_r2", "condition", "remarks", "split_half"]

# Below these a reader should not lean on the scores: remarks say so.
_POOR_R2, _UNSTABLE = 0.5, 0.7
# Probability beyond which a float32 softmax leaves few digits for differences.
_SATURATED = 0.999


def adjusted_r2(sample: Sample, responses: Floats, estimate: Estimate) -> float | None:
    """Return the share of the responses' variance `(n,)` that gamma explains, adjusted for its degrees of freedom.

    The best constant (for rows along a path, the best constant per mirrored pair) is granted. None if too few rows are left.
    """
    residuals = responses - sample.deviations @ estimate.gamma
    if sample.center is None:
        means = np.repeat(_pair_means(residuals), 2), np.repeat(_pair_means(responses), 2)
        constants = len(responses) / 2
    else:
        share = sample.weights / sample.weights.sum()
        means, constants = (share @ residuals, share @ responses), 1.0
    left = float(sample.weights @ (residuals - means[0]) ** 2)
    total = float(sample.weights @ (responses - means[1]) ** 2)
    free = len(responses) - constants - estimate.dof
    if free < 1 or total == 0:
        return None
    return 1 - (left / free) / (total / (len(responses) - constants))


def _pair_means(values: Floats) -> Floats:
    return np.asarray((values[0::2] + values[1::2]) / 2)


def split_half(problem: Problem, estimator: Estimator) -> float | None:
    """Return the Spearman correlation between the scores of the even and the odd rows; None if a half is too small."""
    if problem.n // 2 < problem.p + 3 or problem.p < 3:
        return None
    halves = [estimator.fit(problem.rows(slice(start, None, 2))).gamma for start in (0, 1)]
    ranks = [_ranks(half) for half in halves]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return None
    return float(np.asarray(np.corrcoef(ranks))[0, 1])


def _ranks(values: Floats) -> Floats:
    """Return average ranks `(p,)`; scipy.stats has them too, at half a second of import."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    averages: Floats = np.asarray(np.cumsum(counts) - (counts - 1) / 2, dtype=np.float64)
    return averages[inverse]


def condition(problem: Problem) -> float | None:
    """Return the condition number of the rows' second moments relative to Sigma; None if they do not span all coordinates."""
    if problem.n < problem.p:
        return None
    z, _ = problem.centred()
    rows = problem.covariance.whiten(z)
    spread = np.linalg.eigvalsh(rows.T @ rows)
    return float(spread[-1] / spread[0]) if spread[0] > 1e-12 * spread[-1] else None


def remarks(
    *,
    responses: Floats,
    coordinates: Floats,
    probability: float,
    link: str,
    r2: float | None,
    halves: float | None,
    estimate: Estimate,
    binary: bool,
    gradients: bool,
) -> Iterator[Note]:
    """Yield what a reader of the scores must know, as data."""
    n_rows, n_coordinates = coordinates.shape
    if np.ptp(responses) == 0:
        yield Note("constant", "the model's answer did not change under any perturbation: all scores are 0")
        return
    if estimate.remark is not None:
        yield Note("fallback", estimate.remark)
    if not gradients and n_rows < 2 * (n_coordinates + 3):
        yield Note(
            "few-samples",
            f"{n_rows} samples for {n_coordinates} coordinates are few; use n_samples >= {4 * (n_coordinates + 3)}",
        )
    if r2 is not None and r2 < _POOR_R2:
        yield Note(
            "poor-fit",
            f"the scores explain {max(r2, 0):.0%} of how the model answers around this text; the rest is interaction",
        )
    if halves is not None and halves < _UNSTABLE:
        yield Note(
            "unstable",
            f"two halves of the sample rank the words differently (correlation {halves:.2f}); use a larger n_samples",
        )
    if link == "probability" and max(probability, 1 - probability) > _SATURATED:
        yield Note(
            "saturated",
            f"the probability {probability:.6f} is saturated, scores are tiny; link='log-probability' or 'margin' shows more",
        )
    turned = 0.0 if binary else float((coordinates < 0).mean())
    if turned > 0:
        yield Note(
            "reversed", f"{turned:.2%} of the scales were negative and turned a word vector around; a smaller sigma avoids that"
        )
