"""When to stop asking: as soon as the scores are as certain as was asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mase.attribution import Note
from mase.errors import OptionError
from mase.regression.problem import Estimate, Problem, Sample

__all__ = ["NEVER", "Stopping", "relative_error", "top_margin"]

# A round at most doubles the rows, and adds at least this share: early guesses of the noise are rough.
_LARGEST, _SMALLEST = 2.0, 1.1


@dataclass(frozen=True, slots=True)
class Stopping:
    """A stopping rule; both conditions must hold where both are given, and without any all rows are asked.

    Parameters
    ----------
    tolerance
        Stop when the relative standard error, the root of the summed squared standard errors over the norm of the
        scores, is at most this.
    stable_top
        Stop when the set of the k highest scores will not change at the given confidence: every score inside differs
        from every one outside by more than the joint (Bonferroni) normal bound on their difference.
    confidence
        For `stable_top`.
    """

    tolerance: float | None = None
    stable_top: int | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.tolerance is not None and not (isinstance(self.tolerance, int | float) and 0 < self.tolerance < np.inf):
            raise OptionError(f"tolerance is {self.tolerance!r}, expected a number > 0, for example 0.1")
        if self.stable_top is not None and not (isinstance(self.stable_top, int | np.integer) and self.stable_top >= 1):
            raise OptionError(f"stable_top is {self.stable_top!r}, expected an integer >= 1")
        if not 0.5 <= self.confidence < 1:
            raise OptionError(f"confidence is {self.confidence!r}, expected a number from 0.5 to below 1")

    @property
    def never(self) -> bool:
        """Whether all rows are asked."""
        return self.tolerance is None and self.stable_top is None

    def enough(self, estimate: Estimate) -> bool:
        """Return whether the estimate is certain enough (an estimate that fell back on another rule never is)."""
        if self.never or estimate.remark is not None:
            return False
        precise = self.tolerance is None or relative_error(estimate) <= self.tolerance
        stable = self.stable_top is None or top_margin(estimate, self.stable_top, self.confidence) >= 1
        return precise and stable

    def goal(self, sample: Sample, cap: int, solved: tuple[Problem, Estimate] | None) -> int:
        """Return the number of rows to have asked after the next round, at most `cap`.

        The first round has three rows (six with mirror images) for every two coordinates and a few more; later ones
        follow from the error's fall with 1 / sqrt(n - p).
        """
        step = 2 if sample.paired else 1
        if self.never or not sample.divisible:
            return cap
        if solved is None:
            return min(cap, step * (int(1.5 * sample.coordinates.shape[1]) + 12))
        problem, estimate = solved
        spare = max(problem.n - problem.p - 1, 2)
        wanted = problem.p + 1 + spare * self._shortfall(estimate) ** 2
        rows = int(np.ceil(np.clip(wanted, _SMALLEST * problem.n, _LARGEST * problem.n)))
        return min(cap, step * rows)

    def _shortfall(self, estimate: Estimate) -> float:
        """Return by what factor the error is too large."""
        factors = [1.0]
        if self.tolerance is not None:
            factors.append(relative_error(estimate) / self.tolerance)
        if self.stable_top is not None:
            factors.append(1 / max(top_margin(estimate, self.stable_top, self.confidence), 1e-3))
        return max(factors)

    def remarks(self, estimate: Estimate) -> Iterator[Note]:
        """Yield what a reader must know where the budget ended before the rule was met."""
        if self.never or self.enough(estimate):
            return
        if self.tolerance is not None and relative_error(estimate) > self.tolerance:
            reached = relative_error(estimate)
            yield Note(
                "tolerance-missed",
                f"relative standard error {reached:.3g} instead of {self.tolerance:.3g}; raise n_samples",
            )
        if self.stable_top is not None and top_margin(estimate, self.stable_top, self.confidence) < 1:
            yield Note(
                "top-unstable",
                f"the {self.stable_top} highest words are not certain at {self.confidence:.0%}; raise n_samples",
            )


NEVER = Stopping()


def relative_error(estimate: Estimate) -> float:
    """Return sqrt(sum of squared standard errors) / |gamma|; infinite where all scores are 0 but not certain."""
    norm = float(np.linalg.norm(estimate.gamma))
    error = float(np.sqrt(estimate.variances.sum()))
    if norm == 0:
        return 0.0 if error == 0 else np.inf
    return error / norm


def top_margin(estimate: Estimate, k: int, confidence: float) -> float:
    """Return the smallest gap between the k highest scores and the others, in units of the joint bound (1: certain)."""
    p = len(estimate.gamma)
    if k >= p:
        return np.inf
    order = np.argsort(-estimate.gamma, kind="stable")
    inside, outside = order[:k], order[k:]
    gaps = estimate.gamma[inside][:, None] - estimate.gamma[outside]
    variances = estimate.variances
    spread = variances[inside][:, None] + variances[outside] - 2 * estimate.covariances(inside, outside)
    bound = ndtri(1 - (1 - confidence) / (k * (p - k)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = gaps / (np.sqrt(np.maximum(spread, 0)) * bound)
    return float(np.nan_to_num(ratios, nan=0.0, posinf=np.inf).min())
