"""The adapter for torch modules."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.adapters.tokenizer import check_tokenizer
from mase.models.protocol import Model

__all__ = ["TorchAdapter"]


@dataclass(frozen=True, slots=True)
class TorchAdapter:
    """Accept any torch module that has an embedding layer, together with its tokenizer."""

    understands: ClassVar[str] = "a torch module with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a module."""
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(model, torch.nn.Module)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the module as a model.

        Raises
        ------
        OptionError
            If there is no tokenizer.
        """
        check_tokenizer(model, tokenizer)
        from mase.models.torch_module import TorchModule

        return TorchModule(model, tokenize=tokenizer, name=name)
