"""The mean log-probability of the tokens of a text."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.log_probability import LogProbability
from mase.links.protocol import Functions

__all__ = ["MeanLogProbability"]


@dataclass(frozen=True, slots=True)
class MeanLogProbability:
    """The log-probability of a text, divided by the number of its tokens, so that texts of any length compare.

    A class counts as one token.
    """

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the mean `(n,)`."""
        n_tokens = output.n_tokens[target] if output.n_tokens else 1
        return LogProbability().respond(scores, output, target, xp) / n_tokens

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return what the log-probability takes the logarithm of."""
        return LogProbability().logged(scores, output, target, xp)
