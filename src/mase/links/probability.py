"""The probability of the class, which the paper explains."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.protocol import Functions

__all__ = ["Probability"]


@dataclass(frozen=True, slots=True)
class Probability:
    """The probability of the class."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return p `(n,)`."""
        if output.kind == "probabilities":
            return scores[:, target]
        if output.kind == "log-probabilities":
            return 1 + xp.expm1(scores[:, target])
        return xp.sigmoid(scores[:, target]) if output.multilabel else xp.softmax(scores)[:, target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return an empty tuple: this link takes no logarithm."""
        return ()
