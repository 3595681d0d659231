"""What tells a model from others, as results record it."""

from typing import Any

from mase.models.optional import PromptedModel
from mase.models.protocol import Model

__all__ = ["identity"]


def identity(model: Model) -> dict[str, Any]:
    """Return the name and the checksum of a model, and of a language model how it is prompted, as plain JSON types."""
    prompted = model.prompting if isinstance(model, PromptedModel) else {}
    return {"name": model.name, "sha256": model.sha256, **prompted}
