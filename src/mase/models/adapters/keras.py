"""The adapter for models of Keras 3, with any backend."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.protocol import Model

__all__ = ["KerasAdapter"]


@dataclass(frozen=True, slots=True)
class KerasAdapter:
    """Accept a model that reads texts, or one that reads ids, together with its vectorizer."""

    understands: ClassVar[str] = "a Keras model that reads texts, or with its vectorizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a model of Keras 3."""
        keras = sys.modules.get("keras")
        return keras is not None and isinstance(model, keras.Model)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model as a black box.

        Raises
        ------
        OptionError
            If it reads ids and there is no tokenizer, or it is not clear what its scores are.
        """
        from mase.models.keras import KerasModel

        return KerasModel(model, tokenizer, name=name)
