"""What the model says without the top share of the words, and to them alone: comprehensiveness, sufficiency, log-odds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.metrics.curves import check_scores
from mase.metrics.masking import Masker
from mase.metrics.protocol import Better, Column, Instance
from mase.metrics.ranking import check_ks, share_counts, without_top

__all__ = [
    "ERASER_SHARES",
    "LOG_ODDS_SHARE",
    "Comprehensiveness",
    "Sufficiency",
    "drops",
    "eraser",
    "log_change",
    "rationale_columns",
]

# DeYoung et al., ERASER, ACL 2020, section 4: the top 1 %, 5 %, 10 %, 20 % and 50 % of the words.
ERASER_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
LOG_ODDS_SHARE = 0.2
# A black box may answer exactly 0, whose logarithm would drown all other texts.
_SMALLEST = 1e-12


def rationale_columns(shares: Sequence[float], ks: Sequence[int], better: Better) -> tuple[Column, ...]:
    """Return the mean over the shares, each k, and each share (which tables leave out)."""
    parts = tuple(Column(f"{100 * share:g}%", better, headline=False) for share in shares)
    return (Column("mean", better), *(Column(f"k={k}", better) for k in ks), *parts)


def drops(instance: Instance, shares: Sequence[float], ks: Sequence[int], *, keep_top: bool) -> Floats:
    """Return p(text) - p(what is left) as `rationale_columns` orders them: the top words are taken out, or alone are kept."""
    check_scores(instance.masker, instance.scores)
    counts = (*share_counts(len(instance.masker.words), shares), *ks)
    without, alone = _probabilities(
        instance.masker, instance.target, [instance.ranked], *(((), counts) if keep_top else (counts, ()))
    )
    lost = instance.whole - (alone if keep_top else without)[0]
    by_share, by_k = lost[: len(shares)], lost[len(shares) :]
    return np.concatenate([by_share.mean(keepdims=True), by_k, by_share])


def eraser(masker: Masker, target: int, orders: Sequence[Ints]) -> Floats:
    """Return comprehensiveness, sufficiency (means over `ERASER_SHARES`) and log-odds (`LOG_ODDS_SHARE`) `(o, 3)` of o orders.

    The first numbers of `Comprehensiveness`, `Sufficiency` and `LogOdds`, for orders of the words `(w,)` instead of
    scores; the rows of all orders are asked together.
    """
    counts = share_counts(len(masker.words), (*ERASER_SHARES, LOG_ODDS_SHARE))
    without, alone = _probabilities(masker, target, orders, counts, counts[:-1])
    whole = float(masker.whole[target])
    means = [whole - probability.mean(axis=1) for probability in (without[:, :-1], alone)]
    return np.stack([*means, log_change(without[:, -1], whole)], axis=1)


def log_change(masked: Floats, whole: float) -> Floats:
    """Return log p(what is left) - log p(text) `(n,)` from probabilities `(n,)`; those below 1e-12 count as 1e-12.

    Examples
    --------
    >>> log_change(np.array([0.45, 0.0]), 0.9).round(2).tolist()
    [-0.69, -27.53]
    """
    return np.asarray(np.log(np.maximum(masked, _SMALLEST)) - np.log(max(whole, _SMALLEST)))


def _probabilities(
    masker: Masker, target: int, orders: Sequence[Ints], taken: Sequence[int], kept: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return probabilities of the target without the first `taken` words of each order `(o, len(taken))`, and with the first
    `kept` words alone `(o, len(kept))`."""
    rows = np.concatenate([np.concatenate([without_top(order, taken), ~without_top(order, kept)]) for order in orders])
    probability = masker.probabilities(rows)[:, target].reshape(len(orders), -1)
    return probability[:, : len(taken)], probability[:, len(taken) :]


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

    def evaluate(self, instance: Instance) -> Floats:
        """Return the losses of probability `(1 + len(ks) + len(shares),)`."""
        return drops(instance, self.shares, self.ks, keep_top=False)


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """p(target | text) - p(target | its top words alone), averaged over shares of the words; the lower the better.

    Parameters
    ----------
    shares
        Of the words, rounded up; by default those of ERASER (DeYoung et al., ACL 2020).
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
        return rationale_columns(self.shares, self.ks, "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the losses of probability `(1 + len(ks) + len(shares),)`."""
        return drops(instance, self.shares, self.ks, keep_top=True)
