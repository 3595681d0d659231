"""The explained response of scores, computed by NumPy in float64."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from mase.arrays import Bools, Floats
from mase.errors import CapabilityError, NonFiniteError
from mase.links import FLOOR, LINKS, Contrast, LinkFunction, Output

# Squares and products of larger responses overflow in float64.
_LARGEST = 1e75
_OR_PROBABILITY = ", or use link='probability'"


@dataclass(frozen=True, slots=True)
class _NumPy:
    """The array functions of links for NumPy; see `mase.links.Functions`."""

    floor: float = FLOOR

    def log(self, probabilities: Floats) -> Floats:
        return np.asarray(np.log(np.maximum(probabilities, self.floor)))

    def expm1(self, exponents: Floats) -> Floats:
        return np.asarray(np.expm1(exponents))

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
    if not output.has_classes:
        raise CapabilityError(
            f"the model returns {output.kind}, expected a classifier: {output.kind} have no class probabilities"
        )
    if output.kind == "probabilities":
        return scores
    return _NumPy().sigmoid(scores) if output.multilabel else _NumPy().softmax(scores)


def predictions(scores: Floats, output: Output) -> Floats:
    """Return what a model predicts `(n, k)` from scores `(n, k)`: class probabilities, or the columns themselves."""
    return probabilities(scores, output) if output.has_classes else scores


def respond(scores: Floats, output: Output, link: str | Contrast, target: int) -> Floats:
    """Return the explained response `(n,)` from scores `(n, k)`, in float64.

    ``probability`` is the response of the paper. ``log-probability`` is its logarithm, which is more accurate when the
    probability saturates. ``logit`` is the logit of the class. ``margin`` is the log-probability of the target minus
    that of the best other class (for separate labels, of "not the target"). ``value`` is the column itself, and the
    only link of a model of values. Of the log-probability of a text, ``logit`` is the log-odds and
    ``mean-log-probability`` the mean over its tokens. A `Contrast` is the difference of the responses of two columns.

    Notes
    -----
    As sigma goes to 0, probability and log-probability rank words alike (d log p = dp / p). The logit of one class out
    of k does not, because it ignores the other logits. A model that returns probabilities may return exact zeros and
    ones, whose logarithms are infinite. Links with a logarithm therefore raise probabilities below the floor of the
    output to it (`FLOOR` by default). Logits have no such floor.
    """
    response: Floats = function_of(link, output).respond(scores, output, target, _NumPy(output.floor))
    bad = np.flatnonzero(~(np.abs(response) <= _LARGEST))
    if len(bad):
        other = _OR_PROBABILITY if output.has_classes else ""
        raise NonFiniteError(
            f"{link} of the target is {response[bad[0]]} for {len(bad)} of {len(response)} evaluations, expected "
            f"finite numbers of at most {_LARGEST:g}; check the model's outputs{other}"
        )
    return response


def clipped(scores: Floats, output: Output, link: str | Contrast, target: int) -> Bools:
    """Return `(n,)`: for each row of scores `(n, k)`, whether its response raises a probability to `FLOOR`."""
    logged: tuple[Any, ...] = ()
    if output.kind in ("probabilities", "log-probabilities"):
        logged = function_of(link, output).logged(scores, output, target, _NumPy())
    return np.asarray(np.any([np.zeros(len(scores)), *(probability < output.floor for probability in logged)], axis=0))


def function_of(link: str | Contrast, output: Output) -> LinkFunction:
    """Return the function of a link for a model with this output."""
    name = link.link if isinstance(link, Contrast) else link
    function: LinkFunction = LINKS[name]()
    if output.links is not None and name not in output.links:
        known = " or ".join(f"link={item!r}" for item in output.links)
        raise CapabilityError(f"link is {name!r}, but the model returns {output.kind}, not class scores; use {known}")
    return link if isinstance(link, Contrast) else function
