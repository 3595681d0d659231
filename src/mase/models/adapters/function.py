"""A function of texts: the black box that anything else can be made into."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.protocol import Model

__all__ = ["FunctionAdapter"]


@dataclass(frozen=True, slots=True)
class FunctionAdapter:
    """Takes whatever can be called with a list of texts."""

    understands: ClassVar[str] = "a function from texts to probabilities (n, k)"

    def recognises(self, model: object) -> bool:
        """Return whether it can be called."""
        return callable(model)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the function as a model."""
        del tokenizer
        from mase.models.callable import Callable

        return Callable(model, name=name)
