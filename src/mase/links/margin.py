"""The margin of the class over the best other class."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.logit import Logit
from mase.links.protocol import Functions

__all__ = ["Margin"]


@dataclass(frozen=True, slots=True)
class Margin:
    """The log-probability of the class minus that of the best other class (for separate labels, of "not the class")."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the margin `(n,)`."""
        if output.multilabel:
            return Logit().respond(scores, output, target, xp)
        score, other = scores[:, target], xp.best_other(scores, target)
        return score - other if output.kind == "logits" else xp.log(score) - xp.log(other)

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p of the class and of the best other class."""
        if output.multilabel:
            return Logit().logged(scores, output, target, xp)
        return scores[:, target], xp.best_other(scores, target)
