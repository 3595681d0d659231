"""The number that the model returns."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.protocol import Functions

__all__ = ["Value"]


@dataclass(frozen=True, slots=True)
class Value:
    """The number in the model's column as it is: a value, or the logit or probability that the model returns."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the column `(n,)`."""
        return scores[:, target]

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return an empty tuple: this link takes no logarithm."""
        return ()
