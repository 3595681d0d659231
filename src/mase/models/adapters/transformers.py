"""The adapter for sequence classifiers of transformers."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.adapters.tokenizer import check_tokenizer
from mase.models.protocol import Model

__all__ = ["TransformersAdapter"]


@dataclass(frozen=True, slots=True)
class TransformersAdapter:
    """Accept a Hugging Face classifier together with its tokenizer."""

    understands: ClassVar[str] = "a Hugging Face classifier with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a pretrained model, or one with adapters of peft."""
        transformers, peft = sys.modules.get("transformers"), sys.modules.get("peft")
        return (transformers is not None and isinstance(model, transformers.PreTrainedModel)) or (
            peft is not None and isinstance(model, peft.PeftModel)
        )

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the classifier as a model.

        Raises
        ------
        OptionError
            If there is no tokenizer.
        """
        check_tokenizer(model, tokenizer)
        from mase.models.transformers import HuggingFace

        return HuggingFace(model, tokenizer, name=name)
