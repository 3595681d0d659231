"""Stopping rules: stop sampling when the scores are as certain as requested."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mase.attribution import Note
from mase.attribution.verdict import certain_places
from mase.defaults import CONFIDENCE
from mase.errors import OptionError
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem, Sample
from mase.scalars import check_integer, is_real

__all__ = ["NEVER", "Stopping", "relative_error", "top_margin"]

# Growth of the number of rows per round. Early estimates of the noise are rough, so growth is bounded.
_LARGEST_GROWTH, _SMALLEST_GROWTH = 2.0, 1.1


@dataclass(frozen=True, slots=True)
class Stopping:
    """A stopping rule.

    If both conditions are given, both must hold. If none is given, all rows are evaluated. The default method does not
    stop before it has as many rows as `n_samples="auto"` gives a text without a rule.

    Parameters
    ----------
    tolerance
        Stop when the relative standard error is at most this: the root of the summed squared standard errors, divided
        by the norm of the scores.
    stable_top
        Stop when the set of the k highest scores is certain: every score in the set exceeds every other score by more
        than the joint (Bonferroni) normal bound on their difference.
    confidence
        Confidence level of `stable_top`.
    certain_place
        Stop after so many rows if a place is certain (`mase.attribution.verdict`), else ask all rows; 0 for no such
        rule. This is no rule of a user: models that cost little are asked on by it where no place is certain.
    """

    tolerance: float | None = None
    stable_top: int | None = None
    confidence: float = CONFIDENCE
    certain_place: int = 0

    def __post_init__(self) -> None:
        if self.tolerance is not None and not (is_real(self.tolerance) and 0 < self.tolerance < np.inf):
            raise OptionError(f"tolerance is {self.tolerance!r}, expected a number > 0, for example 0.1")
        if self.stable_top is not None:
            check_integer("stable_top", self.stable_top, 1)
        if not (is_real(self.confidence) and 0.5 <= self.confidence < 1):
            raise OptionError(f"confidence is {self.confidence!r}, expected a number from 0.5 to below 1")

    @property
    def never(self) -> bool:
        """Whether all rows are evaluated."""
        return not (self.ruled or self.certain_place)

    @property
    def ruled(self) -> bool:
        """Whether there is a rule of a user."""
        return self.tolerance is not None or self.stable_top is not None

    def enough(self, estimate: Estimate) -> bool:
        """Return whether the estimate is certain enough; one without errors or from a fallback estimator never is."""
        if self.never or estimate.fallback is not None or _unknown(estimate):
            return False
        if self.certain_place:
            return certain_places(estimate.gamma, np.sqrt(np.maximum(estimate.variances, 0.0))) > 0
        precise = self.tolerance is None or relative_error(estimate) <= self.tolerance
        stable = self.stable_top is None or top_margin(estimate, self.stable_top, self.confidence) >= 1
        return precise and stable

    def check(self, sample: Sample, method: str) -> None:
        """Check that rows can be asked a few at a time, or are all rows that there are.

        Raises
        ------
        OptionError
            If they cannot, and there is a rule.
        """
        if not (self.never or sample.divisible or sample.exhaustive):
            raise self.unsupported(method)

    def unsupported(self, method: str) -> OptionError:
        """Return the error for a method that supports no stopping rule."""
        given = {"tolerance": self.tolerance, "stable_top": self.stable_top}
        rules = " and ".join(name for name, value in given.items() if value is not None)
        return OptionError(
            f"{rules} given for the method {method!r}, which does not support stopping rules, expected none, or "
            "method='mase'"
        )

    def goal(self, sample: Sample, cap: int, solved: tuple[Problem, Estimate] | None, fewest: int = 0) -> int:
        """Return the total number of rows when the rule is asked next, at most `cap`.

        First that is as soon as least squares has as many rows as it should (see the note `few-samples`), or after
        `fewest` rows. Then the error is extrapolated, which falls like 1 / sqrt(n - p). Without errors, all rows
        follow at once.
        """
        step = 2 if sample.paired else 1
        if self.never or not sample.divisible:
            return cap
        if solved is None and self.certain_place:
            return min(cap, self.certain_place)
        if solved is None:
            return min(cap, max(fewest, 2 * step * (int(sample.coordinates.shape[1]) + 3)))
        problem, estimate = solved
        if _unknown(estimate) or self.certain_place:
            return cap
        residual_dof = max(problem.n - problem.p - problem.n_intercepts, 2)
        needed = problem.p + problem.n_intercepts + residual_dof * self._excess(estimate) ** 2
        rows = int(np.ceil(np.clip(needed, _SMALLEST_GROWTH * problem.n, _LARGEST_GROWTH * problem.n)))
        return min(cap, step * rows)

    def _excess(self, estimate: Estimate) -> float:
        """Return the factor by which the error is too large."""
        factors = [1.0]
        if self.tolerance is not None:
            factors.append(relative_error(estimate) / self.tolerance)
        if self.stable_top is not None:
            factors.append(1 / max(top_margin(estimate, self.stable_top, self.confidence), 1e-3))
        return max(factors)

    def notes(self, estimate: Estimate) -> Iterator[Note]:
        """Yield the notes for a budget that was spent before the rule was met."""
        if not self.ruled or self.enough(estimate):
            return
        if _unknown(estimate):
            code, rule = ("top-unstable", "stable_top") if self.tolerance is None else ("tolerance-missed", "tolerance")
            yield Note(code, f"these scores have no standard errors, so {rule} has no effect; use another method")
            return
        # Where all responses are the same there is the note `constant`, which says more.
        constant = not estimate.gamma.any() and not estimate.variances.any()
        if self.tolerance is not None and relative_error(estimate) > self.tolerance and not constant:
            yield Note(
                "tolerance-missed",
                f"the relative standard error is {relative_error(estimate):.3g}, above the tolerance of "
                f"{self.tolerance:.3g}; use a larger n_samples",
            )
        if self.stable_top is not None and top_margin(estimate, self.stable_top, self.confidence) < 1:
            yield Note(
                "top-unstable",
                f"the top {self.stable_top} by score {'is' if self.stable_top == 1 else 'are'} not certain at "
                f"{self.confidence:.0%} confidence; use a larger n_samples",
            )


NEVER = Stopping()


def _unknown(estimate: Estimate) -> bool:
    """Return whether the scores have no standard errors, so that no rule is ever met."""
    return bool(np.isnan(estimate.variances).any())


def relative_error(estimate: Estimate) -> float:
    """Return sqrt(sum of squared standard errors) / |gamma|; infinite if gamma is 0.

    Rows with equal responses say nothing of how much others would differ, so scores of 0 are never certain.
    """
    norm = float(np.linalg.norm(estimate.gamma))
    return float(np.sqrt(estimate.variances.sum())) / norm if norm else np.inf


def top_margin(estimate: Estimate, k: int, confidence: float) -> float:
    """Return the smallest gap between the k highest scores and the others, in units of the joint bound.

    A value of at least 1 means that the set of the k highest scores is certain.
    """
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
