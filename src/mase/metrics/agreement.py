"""Agreement between the scores of two methods, or of one method with several seeds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mase.arrays import Floats, as_floats
from mase.errors import CapabilityError, ShapeError
from mase.metrics.protocol import Column, Instance
from mase.metrics.ranking import ranking
from mase.scalars import check_integer

__all__ = ["SeedAgreement", "jaccard", "spearman", "spearman_table", "top_overlap"]


@dataclass(frozen=True, slots=True)
class SeedAgreement:
    """Agreement of the scores with those of other seeds: Spearman correlation and Jaccard index of the top k words.

    Both are means over the other seeds. Higher is better. Costs one more explanation per seed. A text of at most k
    words has no Jaccard index (NaN): all of its words are top words, in any order.

    Parameters
    ----------
    n_seeds
        Number of other seeds: `seed` + 1, `seed` + 2, and so on.
    k
        Number of top words to compare.
    """

    n_seeds: int = 2
    k: int = 10
    needs_rescore: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer("n_seeds", self.n_seeds, 1)
        check_integer("k", self.k, 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Spearman correlation and Jaccard index."""
        return Column("spearman", "higher"), Column(f"jaccard k={self.k}", "higher")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the mean Spearman correlation and Jaccard index `(2,)`; NaN for one that does not exist.

        Raises
        ------
        CapabilityError
            If the text cannot be explained again.
        """
        if instance.rescore is None:
            raise CapabilityError(
                "seed-agreement has to explain the text again, which it cannot for given attributions; leave it out"
            )
        others = [instance.rescore(instance.model, instance.seed + 1 + index) for index in range(self.n_seeds)]
        agreements = [[spearman(instance.scores, other), jaccard(instance.scores, other, self.k)] for other in others]
        correlation, overlap = np.mean(agreements, axis=0)
        return np.array([correlation, overlap if len(instance.scores) > self.k else np.nan])


def spearman(first: Any, second: Any) -> float:
    """Return Spearman's rank correlation of scores `(w,)` and `(w,)`; NaN if either is constant.

    Ties get their average rank. Scores are tied that differ by rounding, as in `ranking`.

    Raises
    ------
    ShapeError
        If they differ in length.

    Examples
    --------
    >>> spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
    0.5
    """
    return float(spearman_table(np.stack(_same_words(first, second)))[0, 1])


def spearman_table(scores: Floats) -> Floats:
    """Return Spearman's rank correlations `(r, r)` between the rows of scores `(r, w)`; NaN where a row is constant.

    Examples
    --------
    >>> spearman_table(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    ranks = np.stack([_ranks(row) for row in scores])
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    products = centred @ centred.T
    sizes = np.outer(np.diag(products), np.diag(products))
    return np.asarray(np.divide(products, np.sqrt(sizes), out=np.full_like(products, np.nan), where=sizes > 0))


def top_overlap(first: Any, second: Any, k: int) -> float:
    """Return the share of the top k words by scores `(w,)` that are also top k words by other scores `(w,)`.

    k is capped by w.

    Raises
    ------
    ShapeError
        If they differ in length.
    OptionError
        If k is below 1.

    Examples
    --------
    >>> top_overlap([3.0, 2.0, 1.0, 0.0], [3.0, 0.0, 2.0, 1.0], 2)
    0.5
    """
    top_first, top_second = _tops(first, second, k)
    return len(top_first & top_second) / len(top_first)


def jaccard(first: Any, second: Any, k: int) -> float:
    """Return the Jaccard index |A and B| / |A or B| of the top k words A and B by two vectors of scores `(w,)`.

    k is capped by w.

    Raises
    ------
    ShapeError
        If they differ in length.
    OptionError
        If k is below 1.
    """
    top_first, top_second = _tops(first, second, k)
    return len(top_first & top_second) / len(top_first | top_second)


def _tops(first: Any, second: Any, k: int) -> tuple[set[int], set[int]]:
    k = check_integer("k", k, 1)
    top_first, top_second = (set(ranking(scores)[:k].tolist()) for scores in _same_words(first, second))
    return top_first, top_second


def _same_words(first: Any, second: Any) -> tuple[Floats, Floats]:
    first_scores, second_scores = as_floats(first, (None,), "first"), as_floats(second, (None,), "second")
    if first_scores.shape != second_scores.shape or not len(first_scores):
        raise ShapeError(
            f"first has {len(first_scores)} scores and second {len(second_scores)}, expected scores of the same words"
        )
    return first_scores, second_scores


def _ranks(scores: Floats) -> Floats:
    """Return descending ranks `(w,)` from 0; ties get their average rank.

    That is the mean of their ranks if ties are by position, and if they are by position from the end.
    """
    forwards, backwards = np.argsort(ranking(scores)), np.argsort(ranking(scores[::-1]))[::-1]
    return np.asarray((forwards + backwards) / 2)
