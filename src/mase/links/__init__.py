"""Links: functions of the model's scores that are explained. One file per link.

A link is written once, with functions that exist for both NumPy and torch, so that responses and their derivatives come
from the same formula.
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

__all__ = ["FLOOR", "LINKS", "Link", "Output", "floored", "probabilities", "respond"]

# The built-in names, for type checkers and editors. A test checks that they match the registry.
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
    """The meaning of the scores of a model: logits or probabilities, of one class out of k or of k separate labels."""

    kind: Literal["logits", "probabilities"] = "logits"
    multilabel: bool = False


# Imported on first use, because they load NumPy.
__getattr__ = lazy_names(
    __name__, dict.fromkeys(("FLOOR", "floored", "probabilities", "respond"), "mase.links.response")
)
