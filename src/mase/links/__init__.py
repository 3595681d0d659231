"""Links: functions of the model's scores that are explained. One file per link.

A link is written once, with functions that exist for both NumPy and torch, so that responses and their derivatives come
from the same formula.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.links.contrast import Contrast as Contrast
    from mase.links.response import floored as floored
    from mase.links.response import function_of as function_of
    from mase.links.response import predictions as predictions
    from mase.links.response import probabilities as probabilities
    from mase.links.response import respond as respond

__all__ = [
    "FLOOR",
    "LINKS",
    "Contrast",
    "Kind",
    "Link",
    "Output",
    "floored",
    "function_of",
    "predictions",
    "probabilities",
    "respond",
    "value_names",
]

# The built-in names, for type checkers and editors. A test checks that they match the registry.
Link = Literal["probability", "log-probability", "mean-log-probability", "logit", "margin", "value"]

Kind = Literal["logits", "probabilities", "log-probabilities", "values"]

LINKS = Registry(
    "link",
    {
        "probability": "mase.links.probability:Probability",
        "log-probability": "mase.links.log_probability:LogProbability",
        "mean-log-probability": "mase.links.mean_log_probability:MeanLogProbability",
        "logit": "mase.links.logit:Logit",
        "margin": "mase.links.margin:Margin",
        "value": "mase.links.value:Value",
    },
    "mase.links",
)


# The smallest probability whose logarithm is taken, for models that return probabilities. It is below the small
# probabilities that models produce, and so high that a probability rounded to 0 does not outweigh all others.
FLOOR = 1e-9

# The links of columns that are no class scores, the default first.
LINKS_WITHOUT_CLASSES: Mapping[Kind, tuple[Link, ...]] = {
    "values": ("value",),
    "log-probabilities": ("logit", "log-probability", "mean-log-probability", "probability"),
}


@dataclass(frozen=True, slots=True)
class Output:
    """The meaning of the k columns that a model returns.

    They are logits or probabilities, of one class out of k or of k separate labels; or they are values, which are no
    class scores: regressions, rankings, likelihoods, distances.

    `ranked` values belong to classes, and the class with the largest one is predicted, as by the decision function of a
    classifier. Log-probabilities are those of texts, each with the number of its tokens in `n_tokens`; they are no
    class scores either. `floor` is the smallest probability whose logarithm is taken.
    """

    kind: Kind = "logits"
    multilabel: bool = False
    ranked: bool = False
    n_tokens: tuple[int, ...] = ()
    floor: float = FLOOR

    @property
    def has_classes(self) -> bool:
        """Whether the columns are scores of classes."""
        return self.kind in ("logits", "probabilities")

    @property
    def links(self) -> tuple[str, ...] | None:
        """The only links of columns that are no class scores, the default first; None for class scores."""
        return LINKS_WITHOUT_CLASSES.get(self.kind)


def value_names(k: int) -> tuple[str, ...]:
    """Return names of k values without a name: "value", or "value 0", "value 1", ... of several."""
    return ("value",) if k == 1 else tuple(f"value {index}" for index in range(k))


# Imported on first use, because they load NumPy.
_OF_RESPONSES = ("floored", "function_of", "predictions", "probabilities", "respond")
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__, __all__, {"Contrast": "mase.links.contrast"} | dict.fromkeys(_OF_RESPONSES, "mase.links.response")
    )
