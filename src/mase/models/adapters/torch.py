"""A torch module."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.errors import OptionError
from mase.models.protocol import Model

__all__ = ["TorchAdapter", "check_tokenizer"]


@dataclass(frozen=True, slots=True)
class TorchAdapter:
    """Takes any torch module with an embedding layer, with its tokenizer."""

    understands: ClassVar[str] = "a torch module with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether it is a module."""
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(model, torch.nn.Module)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the module as a model.

        Raises
        ------
        OptionError
            If there is no tokenizer.
        """
        del name
        check_tokenizer(model, tokenizer)
        from mase.models.torch_module import TorchModule

        return TorchModule(model, tokenize=tokenizer)


def check_tokenizer(module: object, tokenizer: object) -> None:
    """Make sure that a module came with a tokenizer.

    Raises
    ------
    OptionError
        If it did not.
    """
    if tokenizer is None:
        raise OptionError(
            f"{type(module).__name__} came without a tokenizer, expected Explainer(model, tokenizer) for a Hugging Face model, "
            "or mase.models.TorchModule(module, tokenize=..., labels=[...]) for any other"
        )
