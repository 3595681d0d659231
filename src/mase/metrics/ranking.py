"""Order words by their scores, and mask the first of them."""

from collections.abc import Sequence

import numpy as np

from mase.arrays import Bools, Ints
from mase.attribution import ranking
from mase.errors import OptionError, ShapeError
from mase.scalars import check_integer, is_real

__all__ = ["check_ks", "check_order", "check_shares", "ranking", "share_counts", "without_top"]


def without_top(order: Ints, ks: Sequence[int]) -> Bools:
    """Return which words are kept `(len(ks), w)` when the first k of `order` `(w,)` are masked; k is capped by w.

    Raises
    ------
    OptionError
        If a k is not an integer >= 0.
    ShapeError
        If `order` is not a permutation of the indices 0 to w - 1.

    Examples
    --------
    >>> without_top(ranking([0.1, -2.0, 0.5]), [0, 1, 9]).tolist()
    [[True, True, True], [True, True, False], [False, False, False]]
    """
    rank = np.empty(len(check_order(order)), dtype=np.int64)
    rank[order] = np.arange(len(rank))
    return np.asarray(rank >= np.array(check_ks(ks), dtype=np.int64).reshape(-1, 1))


def check_ks(ks: Sequence[int]) -> tuple[int, ...]:
    """Return `ks` as integers.

    Raises
    ------
    OptionError
        If it is not a sequence, or one is not an integer >= 0.
    """
    _check_sequence("ks", ks, (1, 5, 10))
    return tuple(check_integer("k, the number of words to mask,", k, 0) for k in ks)


def check_order(order: Ints) -> Ints:
    """Return `order` `(w,)` as an array, after a check that it is a permutation of the indices 0 to w - 1.

    Raises
    ------
    ShapeError
        If it is not.
    """
    indices = np.asarray(order)
    if indices.ndim != 1 or not np.array_equal(np.sort(indices), np.arange(len(indices))):
        raise ShapeError(
            f"order of shape {indices.shape} is not a permutation, expected each of the indices 0 to w - 1 once"
        )
    return indices


def check_shares(shares: Sequence[float]) -> None:
    """Check that there are shares, each above 0 and up to 1.

    Raises
    ------
    OptionError
        If there is none, or one is something else.
    """
    _check_sequence("shares", shares, (0.1, 0.2))
    if not len(shares):
        raise OptionError(f"shares is {shares!r}, expected at least one number above 0 and up to 1")
    for share in shares:
        if not is_real(share) or not 0 < share <= 1:
            raise OptionError(f"share is {share!r:.60}, expected a number above 0 and up to 1")


def share_counts(n_words: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Return each share of `n_words` as a number of words, rounded up so that it is at least one word.

    Raises
    ------
    OptionError
        If `check_shares` refuses the shares.

    Examples
    --------
    >>> share_counts(30, (0.01, 0.1, 0.5))
    (1, 3, 15)
    """
    check_shares(shares)
    # Round to 10 decimals first: 0.07 * 100 is 7.000000000000001 in floating point, but must give 7 words.
    return tuple(int(np.ceil(round(n_words * share, 10))) for share in shares)


def _check_sequence(name: str, given: object, example: tuple[float, ...]) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise OptionError(f"{name} is {given!r:.60}, expected a sequence of numbers, as in {example}")
