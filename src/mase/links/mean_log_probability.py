"""The mean log-probability of the tokens of a text."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.protocol import Functions

__all__ = ["MeanLogProbability"]


@dataclass(frozen=True, slots=True)
class MeanLogProbability:
    """The log-probability of a text, divided by the number of its tokens, so that texts of any length compare."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the mean `(n,)`."""
        return scores[:, target] / output.n_tokens[target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return an empty tuple: the model returns logarithms."""
        return ()
