"""The adapter for names, folders and URLs of models."""

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.models.adapters.tokenizer import check_no_tokenizer
from mase.models.protocol import Model

__all__ = ["NameAdapter"]


@dataclass(frozen=True, slots=True)
class NameAdapter:
    """Load a model by its name, folder or URL; see `mase.models.load`."""

    understands: ClassVar[str] = "a name, folder or URL"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a str or a path."""
        return isinstance(model, str | os.PathLike)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the loaded model, with its own name.

        Raises
        ------
        OptionError
            If a tokenizer is given as well.
        """
        del name
        check_no_tokenizer("a model that is loaded by its name", tokenizer)
        from mase.models.loading import load

        return load(model)
