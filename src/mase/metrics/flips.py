"""Delta Accuracy, log-odds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.defaults import KS
from mase.errors import ShapeError
from mase.metrics.base import Column, Instance
from mase.metrics.curves import LOG_ODDS_SHARE, log_change, target_probabilities
from mase.metrics.masking import Masker, check_ks, check_shares, share_counts, without_top


@dataclass(frozen=True, slots=True)
class DeltaAccuracy:
    """Whether the prediction flips when the k words of highest score are masked, for each k; higher is better.

    Notes
    -----
    Equation (9) of the paper, ``|CC - MC| / CC``, calls MC the texts *misclassified* after masking. With that reading a
    method that flips 9.5 % of the predictions would score 0.905, but the paper's prose and tables say 0.095. So MC is
    read as the texts *still classified correctly*: Delta Accuracy is the share of flipped predictions among texts that
    were classified correctly. Complete words are masked, in descending order of their signed scores, ties by
    position. k is capped by the number of words. `docs/paper.md` compares this with the paper.

    In multi-label classification the prediction flips when the probability of the target falls below 0.5. A text has no
    value (NaN) if the model does not predict the target for the unmasked text.
    """

    ks: tuple[int, ...] = KS
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_ks(self.ks)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One per k."""
        return tuple(Column(f"k={k}", "higher", share=True) for k in self.ks)

    def evaluate(self, instance: Instance) -> Floats:
        """Return for each k 1 if the prediction flips, else 0 `(len(ks),)`; NaN if the target is not predicted."""
        flipped = flips(instance.masker, instance.ranked, instance.target, self.ks).astype(np.float64)
        predicted = not instance.masker.flipped(instance.masker.text_probabilities[None, :], instance.target)[0]
        return flipped if predicted else np.full(len(self.ks), np.nan)


def flips(masker: Masker, order: Ints, target: int, ks: Sequence[int]) -> Bools:
    """Return for each of `ks` whether the prediction is no longer `target` without the first k words `(len(ks),)`.

    The words are masked in the given order, and k is capped by the number of words w. Delta Accuracy is the share
    of texts for which this is true, among texts that were predicted correctly; `mase.statistics` summarises it.
    `Masker.flipped` defines what counts as predicted.
    """
    if len(order) != len(masker.words):
        raise ShapeError(f"order has {len(order)} words, expected {len(masker.words)}: those that the model reads")
    return masker.flipped(masker.probabilities(without_top(order, ks)), target)


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
