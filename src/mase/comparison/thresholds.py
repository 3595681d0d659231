"""Limits on how much two runs may differ, so that a release can be stopped."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from mase.comparison.comparison import Comparison
from mase.errors import DataError, OptionError
from mase.render.numbers import counted
from mase.scalars import is_real

__all__ = ["Thresholds"]

_NO_CLASSES = "no text has a predicted class in both runs"
_NO_TOPS = "no text has the same response in both runs and a score other than 0"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits on how much two runs may differ. None sets no limit.

    Parameters
    ----------
    max_flipped
        Greatest share of texts whose predicted class differs.
    max_reasons_changed
        Greatest share of texts whose reasons differ beyond sampling noise.
    min_top_overlap
        Least mean share of the top five words that both runs have in common.

    Raises
    ------
    OptionError
        If a limit is not a number from 0 to 1.
    """

    max_flipped: float | None = None
    max_reasons_changed: float | None = None
    min_top_overlap: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not (is_real(value) and 0 <= value <= 1):
                raise OptionError(f"{limit.name}={str(value)!r:.60} is not a share, expected a number from 0 to 1")

    def exceeded(self, comparison: Comparison) -> tuple[str, ...]:
        """Return one sentence for each limit that a comparison exceeds.

        Raises
        ------
        DataError
            If a limit is on something that the runs do not tell.
        """
        return tuple(self._exceeded(comparison))

    def _exceeded(self, comparison: Comparison) -> Iterator[str]:
        predictions, reasons = comparison.predictions, comparison.reasons
        if any(getattr(self, limit.name) is not None for limit in fields(self)):
            _check_judged(comparison)
        if self.max_flipped is not None:
            share = _known(predictions.share_flipped if predictions.n else None, "max_flipped", _NO_CLASSES)
            if share > self.max_flipped:
                yield (
                    f"the prediction of {share:.2%} of the texts differs, "
                    f"expected at most {self.max_flipped:.2%} (max_flipped)"
                )
        if self.max_reasons_changed is not None:
            share = _known(reasons.share_changed, "max_reasons_changed", reasons.no_noise)
            if share > self.max_reasons_changed:
                yield (
                    f"the reasons for {share:.2%} of the texts differ beyond sampling noise, "
                    f"expected at most {self.max_reasons_changed:.2%} (max_reasons_changed)"
                )
        if self.min_top_overlap is not None:
            overlap = _known(reasons.top_overlap, "min_top_overlap", _NO_TOPS)
            if overlap < self.min_top_overlap:
                yield (
                    f"the runs have {overlap:.2%} of the top five words in common, "
                    f"expected at least {self.min_top_overlap:.2%} (min_top_overlap)"
                )


def _check_judged(comparison: Comparison) -> None:
    texts = comparison.texts
    if texts.left and not comparison.common_only:
        left = " and ".join(f"{counted(count, 'text')} of the {run} run" for run, count in texts.left.items())
        raise DataError(
            f"limits cannot be checked: {left} are in parts that are not finished; finish the run, or pass "
            "common_only=True to judge the texts that both have explained"
        )
    if texts.compared == 0:
        raise DataError("the runs have no text in common that both explain, expected at least one to set limits on")


def _known(value: float | None, limit: str, reason: str | None) -> float:
    if value is None:
        raise DataError(f"{limit} cannot be checked: {reason}")
    return value
