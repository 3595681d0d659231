"""The logarithm of the probability of the class."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.protocol import Functions

__all__ = ["LogProbability"]


@dataclass(frozen=True, slots=True)
class LogProbability:
    """The logarithm of the probability of the class, which is more accurate when the probability saturates."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return log p `(n,)`."""
        if output.kind == "log-probabilities":
            return scores[:, target]
        if output.kind == "probabilities":
            return xp.log(scores[:, target])
        return xp.log_sigmoid(scores[:, target]) if output.multilabel else xp.log_softmax(scores)[:, target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p."""
        return () if output.kind == "log-probabilities" else (scores[:, target],)
