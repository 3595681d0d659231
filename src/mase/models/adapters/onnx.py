"""The adapter for sessions of ONNX Runtime."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.protocol import Model

__all__ = ["OnnxAdapter"]


@dataclass(frozen=True, slots=True)
class OnnxAdapter:
    """Accept a session together with its tokenizer."""

    understands: ClassVar[str] = "a session of ONNX Runtime with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a session."""
        onnxruntime = sys.modules.get("onnxruntime")
        return onnxruntime is not None and isinstance(model, onnxruntime.InferenceSession)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the session as a model.

        Raises
        ------
        OptionError
            If there is no tokenizer.
        """
        from mase.models.onnx import OnnxModel

        return OnnxModel(model, tokenizer, name=name)
