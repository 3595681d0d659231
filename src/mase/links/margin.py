"""How far the class is ahead of the best other one."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.logit import Logit
from mase.links.protocol import Functions

__all__ = ["Margin"]


@dataclass(frozen=True, slots=True)
class Margin:
    """The class's log-probability minus that of the best other class; of "not the class" for separate questions."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the margin `(n,)`."""
        if output.multilabel:
            return Logit().respond(scores, output, target, xp)
        own, other = scores[:, target], xp.best_other(scores, target)
        return own - other if output.kind == "logits" else xp.log(own) - xp.log(other)

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p of the class and of the best other one."""
        if output.multilabel:
            return Logit().logged(scores, output, target, xp)
        return scores[:, target], xp.best_other(scores, target)
