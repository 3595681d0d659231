"""The explained response of scores in NumPy, in float64."""

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from mase.arrays import Bools, Floats
from mase.errors import NonFiniteError
from mase.links import LINKS, Output
from mase.links.protocol import LinkFunction

__all__ = ["FLOOR", "floored", "probabilities", "respond"]

# The smallest probability that a logarithm is taken of, where a model answers with probabilities: low enough for the
# small ones that models mean, high enough that one rounded to 0 does not outweigh all others.
FLOOR = 1e-9


class _NumPy:
    """The functions of links in NumPy; see `mase.links.protocol.Functions`."""

    def log(self, chances: Floats) -> Floats:
        return np.asarray(np.log(np.maximum(chances, FLOOR)))

    def sigmoid(self, logits: Floats) -> Floats:
        return np.asarray(expit(logits))

    def log_sigmoid(self, logits: Floats) -> Floats:
        return np.asarray(log_expit(logits))

    def softmax(self, logits: Floats) -> Floats:
        return np.asarray(softmax(logits, axis=1))

    def log_softmax(self, logits: Floats) -> Floats:
        return np.asarray(log_softmax(logits, axis=1))

    def best_other(self, scores: Floats, target: int) -> Floats:
        return np.asarray(np.delete(scores, target, axis=1).max(axis=1))


def probabilities(scores: Floats, output: Output) -> Floats:
    """Return class probabilities `(n, k)` from scores `(n, k)`."""
    if output.kind == "probabilities":
        return scores
    return _NumPy().sigmoid(scores) if output.multilabel else _NumPy().softmax(scores)


def respond(scores: Floats, output: Output, link: str, target: int) -> Floats:
    """Return the explained response `(n,)` from scores `(n, k)`, in float64.

    ``probability`` is the paper's; ``log-probability`` its logarithm, more exact where the probability saturates;
    ``logit`` the raw score of the class; ``margin`` the target's log-probability minus that of the best other class (of
    "not the target" for separate questions).

    Notes
    -----
    As sigma goes to 0, probability and log-probability rank words alike (d log p = dp / p). The raw logit of one class
    among k does not: it leaves out what the other logits do. A model that answers with probabilities may answer with
    exact zeros and ones, whose logarithms are infinite: the links with a logarithm count a probability below `FLOOR` as
    `FLOOR`. Logits have no such floor.

    Raises
    ------
    UnknownNameError
        If the link is unknown.
    NonFiniteError
        If a response is NaN or infinite.
    """
    response: Floats = _function(link).respond(scores, output, target, _NumPy())
    bad = np.flatnonzero(~np.isfinite(response))
    if len(bad):
        raise NonFiniteError(
            f"{link} of the target is {response[bad[0]]} for {len(bad)} of {len(response)} answers, expected finite numbers; "
            "check the model's outputs, or use link='probability'"
        )
    return response


def floored(scores: Floats, output: Output, link: str, target: int) -> Bools:
    """Return for each of the scores `(n, k)` whether its response counts a probability below `FLOOR` as `FLOOR`, `(n,)`."""
    logged: tuple[Any, ...] = ()
    if output.kind == "probabilities":
        logged = _function(link).logged(scores, output, target, _NumPy())
    return np.asarray(np.any([np.zeros(len(scores)), *(chances < FLOOR for chances in logged)], axis=0))


def _function(link: str) -> LinkFunction:
    function: LinkFunction = LINKS[link]()
    return function
