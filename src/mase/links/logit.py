"""The raw score of the class."""

from dataclasses import dataclass
from typing import Any

from mase.links import Output
from mase.links.protocol import Functions

__all__ = ["Logit"]


@dataclass(frozen=True, slots=True)
class Logit:
    """The raw score of the class; of a model that answers with probabilities, log p - log(1 - p)."""

    def respond(self, scores: Any, output: Output, target: int, xp: Functions) -> Any:
        """Return the logit `(n,)`."""
        own = scores[:, target]
        return own if output.kind == "logits" else xp.log(own) - xp.log(1 - own)

    def logged(self, scores: Any, output: Output, target: int, xp: Functions) -> tuple[Any, ...]:
        """Return p and 1 - p."""
        return scores[:, target], 1 - scores[:, target]
