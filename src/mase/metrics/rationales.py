"""Comprehensiveness and sufficiency: the model without the top words, and with the top words alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.metrics.curves import check_scores
from mase.metrics.masking import Masker
from mase.metrics.protocol import Better, Column, Instance
from mase.metrics.ranking import check_ks, check_shares, share_counts, without_top

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
# A black box may return exactly 0, whose logarithm would dominate the mean over texts.
_SMALLEST = 1e-12


def rationale_columns(shares: Sequence[float], ks: Sequence[int], better: Better) -> tuple[Column, ...]:
    """Return the columns: the mean over the shares, each k, and each share (which tables leave out)."""
    parts = tuple(Column(f"{100 * share:g}%", better, headline=False) for share in shares)
    return (Column("mean", better), *(Column(f"k={k}", better) for k in ks), *parts)


def drops(instance: Instance, shares: Sequence[float], ks: Sequence[int], *, keep_top: bool) -> Floats:
    """Return p(text) - p(masked text) `(1 + len(ks) + len(shares),)` in the order of `rationale_columns`.

    With `keep_top` only the top words are kept; otherwise the top words are masked.
    """
    check_scores(instance.masker, instance.scores)
    counts = (*share_counts(len(instance.masker.words), shares), *ks)
    without, alone = _probabilities(
        instance.masker, instance.target, [instance.ranked], *(((), counts) if keep_top else (counts, ()))
    )
    differences = instance.text_probability - (alone if keep_top else without)[0]
    by_share, by_k = differences[: len(shares)], differences[len(shares) :]
    return np.concatenate([by_share.mean(keepdims=True), by_k, by_share])


def eraser(masker: Masker, target: int, orders: Sequence[Ints]) -> Floats:
    """Return comprehensiveness, sufficiency and log-odds `(o, 3)` for o orders of the words.

    These are the first columns of `Comprehensiveness` and `Sufficiency` (means over `ERASER_SHARES`) and of `LogOdds`
    (`LOG_ODDS_SHARE`), for orders of the words `(w,)` instead of scores. The model is evaluated for all orders at once.
    """
    counts = share_counts(len(masker.words), (*ERASER_SHARES, LOG_ODDS_SHARE))
    without, alone = _probabilities(masker, target, orders, counts, counts[:-1])
    unmasked = float(masker.text_probabilities[target])
    means = [unmasked - probability.mean(axis=1) for probability in (without[:, :-1], alone)]
    return np.stack([*means, log_change(without[:, -1], unmasked)], axis=1)


def log_change(masked: Floats, unmasked: float) -> Floats:
    """Return log p(masked text) - log p(text) `(n,)` from probabilities `(n,)`; those below 1e-12 count as 1e-12.

    Examples
    --------
    >>> log_change(np.array([0.45, 0.0]), 0.9).round(2).tolist()
    [-0.69, -27.53]
    """
    return np.asarray(np.log(np.maximum(masked, _SMALLEST)) - np.log(max(unmasked, _SMALLEST)))


def _probabilities(
    masker: Masker, target: int, orders: Sequence[Ints], n_masked: Sequence[int], n_kept: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return probabilities of the target for o orders of the words.

    The first array `(o, len(n_masked))` is without the first `n_masked` words of each order. The second
    `(o, len(n_kept))` is with the first `n_kept` words alone.
    """
    rows = [np.concatenate([without_top(order, n_masked), ~without_top(order, n_kept)]) for order in orders]
    probability = masker.probabilities(np.concatenate(rows))[:, target].reshape(len(orders), -1)
    return probability[:, : len(n_masked)], probability[:, len(n_masked) :]


@dataclass(frozen=True, slots=True)
class Comprehensiveness:
    """p(target | text) - p(target | text without its top words), averaged over shares of the words; higher is better.

    Parameters
    ----------
    shares
        Shares of the words to mask, rounded up to numbers of words. By default those of ERASER (DeYoung et al., ACL
        2020), whose code also averages over them.
    ks
        Further numbers of words to mask, each with its own column.
    """

    shares: tuple[float, ...] = ERASER_SHARES
    ks: tuple[int, ...] = ()
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_shares(self.shares)
        check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The mean over the shares, each k, each share."""
        return rationale_columns(self.shares, self.ks, "higher")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the differences of probability `(1 + len(ks) + len(shares),)`."""
        return drops(instance, self.shares, self.ks, keep_top=False)


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """p(target | text) - p(target | its top words alone), averaged over shares of the words; lower is better.

    Parameters
    ----------
    shares
        Shares of the words to keep, rounded up to numbers of words. By default those of ERASER (DeYoung et al., ACL
        2020).
    ks
        Further numbers of words to keep, each with its own column.
    """

    shares: tuple[float, ...] = ERASER_SHARES
    ks: tuple[int, ...] = ()
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_shares(self.shares)
        check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The mean over the shares, each k, each share."""
        return rationale_columns(self.shares, self.ks, "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the differences of probability `(1 + len(ks) + len(shares),)`."""
        return drops(instance, self.shares, self.ks, keep_top=True)
