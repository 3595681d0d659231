"""How the predictions for the windows of a text become one."""

import numpy as np

from mase.arrays import Floats
from mase.choices import Pooling

__all__ = ["decider", "pooled", "weights"]


def weights(numbers: Floats, pooling: Pooling) -> Floats:
    """Return the weights `(w, k)` of w windows in the pooled probabilities or values of k columns; they sum to 1.

    Parameters
    ----------
    numbers
        Class probabilities or values `(w, k)` of the windows.
    pooling
        "mean": all windows count alike. "max": for each column the window in which it is largest; of equal ones the
        first. "first": the first window.

    Examples
    --------
    >>> weights(np.array([[0.2, 0.8], [0.6, 0.4]]), "max")
    array([[0., 1.],
           [1., 0.]])
    """
    if pooling == "mean":
        return np.full(numbers.shape, 1 / len(numbers))
    chosen = np.argmax(numbers, axis=0) if pooling == "max" else np.zeros(numbers.shape[1], dtype=np.int64)
    return np.asarray(np.arange(len(numbers))[:, None] == chosen, dtype=np.float64)


def pooled(numbers: Floats, pooling: Pooling) -> Floats:
    """Return the pooled probabilities or values `(k,)` of those of the windows `(w, k)`.

    With "max", the probabilities of classes that exclude each other may sum to more than 1.
    """
    found: Floats = (weights(numbers, pooling) * numbers).sum(axis=0)
    return found


def decider(numbers: Floats, weight: Floats) -> int:
    """Return the window of the largest number `(w,)` among those with a weight `(w,)`."""
    return int(np.argmax(np.where(weight > 0, numbers, -np.inf)))
