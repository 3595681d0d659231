"""Log-odds: the change of the target's log-probability when the top share of the words is masked."""

from dataclasses import dataclass
from typing import ClassVar

from mase.arrays import Floats
from mase.metrics.curves import target_probabilities
from mase.metrics.protocol import Column, Instance
from mase.metrics.ranking import check_shares, share_counts, without_top
from mase.metrics.rationales import LOG_ODDS_SHARE, log_change

__all__ = ["LogOdds"]


@dataclass(frozen=True, slots=True)
class LogOdds:
    """log p(target | text without its top words) - log p(target | text); lower is better.

    The name is from Shrikumar et al. (ICML 2017). In the literature on integrated gradients it is this difference of
    log-probabilities. Probabilities below 1e-12 count as 1e-12.

    Parameters
    ----------
    share
        Share of the words to mask, rounded up to a number of words. The code of Sanyal and Ren (EMNLP 2021) rounds
        down.
    """

    share: float = LOG_ODDS_SHARE
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_shares((self.share,))

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column(f"top {100 * self.share:g}%", "lower"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the difference of log-probabilities `(1,)`."""
        kept = without_top(instance.ranked, share_counts(len(instance.masker.words), (self.share,)))
        return log_change(target_probabilities(instance, kept), instance.text_probability)
