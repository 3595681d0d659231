"""Links: which number of the model's answer is explained."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from mase.arrays import Bools, Floats
from mase.errors import NonFiniteError, OptionError

__all__ = ["FLOOR", "Link", "Output", "floored", "links", "probabilities", "respond"]

# The smallest probability that a logarithm is taken of, where a model answers with probabilities: low enough for the
# small ones that models mean, high enough that one rounded to 0 does not outweigh all others.
FLOOR = 1e-9

Link = Literal["probability", "log-probability", "logit", "margin"]


@dataclass(frozen=True, slots=True)
class Output:
    """What the columns of a model's scores are: logits or probabilities, of one choice among k or of k separate questions."""

    kind: Literal["logits", "probabilities"] = "logits"
    multilabel: bool = False


def links() -> tuple[Link, ...]:
    """Return the names of the links."""
    return get_args(Link)


def probabilities(scores: Floats, output: Output) -> Floats:
    """Return class probabilities `(n, k)` from scores `(n, k)`."""
    if output.kind == "probabilities":
        return scores
    return np.asarray(expit(scores) if output.multilabel else softmax(scores, axis=1))


def respond(scores: Floats, output: Output, link: Link, target: int) -> Floats:
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
    OptionError
        If the link is unknown.
    NonFiniteError
        If a response is NaN or infinite.
    """
    if link not in links():
        raise OptionError(f"link is {link!r}, expected one of {', '.join(links())}")
    response = _LINKS[link](scores, output, target)
    bad = np.flatnonzero(~np.isfinite(response))
    if len(bad):
        raise NonFiniteError(
            f"{link} of the target is {response[bad[0]]} for {len(bad)} of {len(response)} answers, expected finite numbers; "
            "check the model's outputs, or use link='probability'"
        )
    return response


def _probability(scores: Floats, output: Output, target: int) -> Floats:
    return probabilities(scores, output)[:, target]


def _log_probability(scores: Floats, output: Output, target: int) -> Floats:
    if output.kind == "probabilities":
        return np.asarray(_log(scores[:, target]))
    return np.asarray(log_expit(scores[:, target]) if output.multilabel else log_softmax(scores, axis=1)[:, target])


def _logit(scores: Floats, output: Output, target: int) -> Floats:
    if output.kind == "logits":
        return scores[:, target]
    return np.asarray(_log(scores[:, target]) - _log(1 - scores[:, target]))


def _margin(scores: Floats, output: Output, target: int) -> Floats:
    if output.multilabel:
        return _logit(scores, output, target)
    others = np.delete(scores, target, axis=1).max(axis=1)
    if output.kind == "logits":
        return np.asarray(scores[:, target] - others)
    return np.asarray(_log(scores[:, target]) - _log(others))


def _log(chances: Floats) -> Floats:
    """Return log(max(p, FLOOR)) `(n,)`."""
    return np.asarray(np.log(np.maximum(chances, FLOOR)))


def floored(scores: Floats, output: Output, link: Link, target: int) -> Bools:
    """Return for each of the scores `(n, k)` whether its response counts a probability below `FLOOR` as `FLOOR`, `(n,)`."""
    if output.kind == "logits" or link == "probability":
        return np.zeros(len(scores), dtype=np.bool_)
    own = scores[:, target]
    if link == "log-probability":
        return np.asarray(own < FLOOR)
    others = 1 - own if output.multilabel or link == "logit" else np.delete(scores, target, axis=1).max(axis=1)
    return np.asarray(np.minimum(own, others) < FLOOR)


_LINKS = {"probability": _probability, "log-probability": _log_probability, "logit": _logit, "margin": _margin}
