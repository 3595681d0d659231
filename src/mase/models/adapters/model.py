"""A model of this library, or of another package that has its methods: taken as it is."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.protocol import Model

__all__ = ["ModelAdapter"]


@dataclass(frozen=True, slots=True)
class ModelAdapter:
    """Takes what is a model already."""

    understands: ClassVar[str] = "a model of mase.models"

    def recognises(self, model: object) -> bool:
        """Return whether it can be bound to a text."""
        return callable(getattr(type(model), "bind", None))

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return it unchanged."""
        del tokenizer, name
        found: Model = model
        return found
