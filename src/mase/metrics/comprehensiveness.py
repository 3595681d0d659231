"""Comprehensiveness: how much probability the target loses without the top words."""

from dataclasses import dataclass
from typing import ClassVar

from mase.arrays import Floats
from mase.metrics.protocol import Case, Column
from mase.metrics.ranking import check_ks, share_counts
from mase.metrics.rationales import ERASER_SHARES, drops, rationale_columns

__all__ = ["Comprehensiveness"]


@dataclass(frozen=True, slots=True)
class Comprehensiveness:
    """p(target | text) - p(target | text without its top words), averaged over shares of the words; the higher the better.

    Parameters
    ----------
    shares
        Of the words, rounded up; by default those of ERASER (DeYoung et al., ACL 2020), whose code averages over them.
    ks
        Numbers of words to report besides.
    """

    shares: tuple[float, ...] = ERASER_SHARES
    ks: tuple[int, ...] = ()
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        share_counts(1, self.shares), check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The mean, each k, each share."""
        return rationale_columns(self.shares, self.ks, "higher")

    def judge(self, case: Case) -> Floats:
        """Return the losses of probability `(1 + len(ks) + len(shares),)`."""
        return drops(case, self.shares, self.ks, keep_top=False)
