"""Links: which number of the model's answer is explained. One file per link.

A link is written once, with functions that NumPy and torch share: responses and their derivatives are of one formula.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.links.response import FLOOR as FLOOR
    from mase.links.response import floored as floored
    from mase.links.response import probabilities as probabilities
    from mase.links.response import respond as respond

__all__ = ["FLOOR", "LINKS", "Link", "Output", "floored", "links", "probabilities", "respond"]

# The built-in names, for type checkers and editors; a test holds them to the registry.
Link = Literal["probability", "log-probability", "logit", "margin"]

LINKS = Registry(
    "link",
    {
        "probability": "mase.links.probability:Probability",
        "log-probability": "mase.links.log_probability:LogProbability",
        "logit": "mase.links.logit:Logit",
        "margin": "mase.links.margin:Margin",
    },
    "mase.links",
)


@dataclass(frozen=True, slots=True)
class Output:
    """What the columns of a model's scores are: logits or probabilities, of one choice among k or of k separate questions."""

    kind: Literal["logits", "probabilities"] = "logits"
    multilabel: bool = False


def links() -> tuple[str, ...]:
    """Return the names of the links."""
    return tuple(LINKS)


# They load NumPy, which the names above do not.
__getattr__ = lazy_names(
    __name__, dict.fromkeys(("FLOOR", "floored", "probabilities", "respond"), "mase.links.response")
)
