"""The adapter for functions of texts: any other classifier can be wrapped in one."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.adapters.tokenizer import check_no_tokenizer
from mase.models.protocol import Model

__all__ = ["FunctionAdapter"]


@dataclass(frozen=True, slots=True)
class FunctionAdapter:
    """Accept any object that can be called with a list of texts."""

    understands: ClassVar[str] = "a function from texts to probabilities (n, k)"

    def recognises(self, model: object) -> bool:
        """Return whether the object is callable."""
        return callable(model)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the function as a model.

        Raises
        ------
        OptionError
            If a tokenizer is given as well.
        """
        check_no_tokenizer("a function", tokenizer)
        from mase.models.callable import Callable

        return Callable(model, name=name)
