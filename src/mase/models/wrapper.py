"""A base for models that wrap another model and change only how it is bound to a text."""

from collections.abc import Sequence

import numpy as np

from mase.document import Input
from mase.models.protocol import Model
from mase.text import Tokens

__all__ = ["Wrapper"]


class Wrapper:
    """A `mase.models.protocol.Model` that delegates everything except `bind` to `model`."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def has_embeddings(self) -> bool:
        """Whether coordinates may take any value."""
        return self.model.has_embeddings

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the references."""
        return self.model.references

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes."""
        return self.model.labels

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights."""
        return self.model.sha256

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads."""
        return self.model.encode(text)

    def predict(self, texts: Sequence[Input]) -> np.ndarray:
        """Return class probabilities `(n, k)` of the texts themselves."""
        return self.model.predict(texts)
