"""The logit of the class."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.protocol import Functions

__all__ = ["Logit"]


@dataclass(frozen=True, slots=True)
class Logit:
    """The logit of the class; for a model that returns probabilities or log-probabilities, log p - log(1 - p)."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the logit `(n,)`."""
        score = scores[:, target]
        if output.kind == "log-probabilities":
            return score - xp.log(-xp.expm1(score))
        return score if output.kind == "logits" else xp.log(score) - xp.log(1 - score)

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p and 1 - p; of a log-probability, 1 - p alone."""
        score = scores[:, target]
        return (-xp.expm1(score),) if output.kind == "log-probabilities" else (score, 1 - score)
