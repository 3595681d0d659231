"""The name of a model, or the folder that it is in."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.protocol import Model

__all__ = ["NameAdapter"]


@dataclass(frozen=True, slots=True)
class NameAdapter:
    """Loads a model by its name or folder; see `mase.models.load`."""

    understands: ClassVar[str] = "a name or folder"

    def recognises(self, model: object) -> bool:
        """Return whether it is a str or a path."""
        return isinstance(model, str | os.PathLike)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model."""
        del tokenizer, name
        from mase.models.loading import load

        return load(model)
