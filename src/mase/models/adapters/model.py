"""The adapter for objects that are models already, of this library or of another package."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.adapters.tokenizer import check_no_tokenizer
from mase.models.protocol import Model

__all__ = ["ModelAdapter"]


@dataclass(frozen=True, slots=True)
class ModelAdapter:
    """Accept an object that has the methods of a model."""

    understands: ClassVar[str] = "a model of mase.models"

    def recognises(self, model: object) -> bool:
        """Return whether the object can be bound to a text."""
        return callable(getattr(type(model), "bind", None))

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model unchanged, with its own name.

        Raises
        ------
        OptionError
            If a tokenizer is given as well.
        """
        del name
        check_no_tokenizer("a model of mase.models", tokenizer)
        adapted: Model = model
        return adapted
