"""Models of Keras 3 on the backend torch as torch modules, so that their embedding layer can be perturbed."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from mase.errors import CapabilityError


class KerasModule(nn.Module):
    """A Keras model on the backend torch as a module for `mase.models.TorchModule`.

    Keras keeps its layers out of sight of torch. This module has them as children by their names, so that
    ``embedding="embedding"`` names the embedding layer.

    Parameters
    ----------
    model
        The model, from ids `(b, t)` to class scores `(b, k)`. It is called with ``training=False``.

    Raises
    ------
    CapabilityError
        If the backend is another one.
    """

    def __init__(self, model: Any) -> None:
        import keras

        super().__init__()
        if keras.backend.backend() != "torch":
            raise CapabilityError(
                f"the backend of Keras is {keras.backend.backend()}, expected torch; explain the model itself, as in "
                "Explainer(model, vectorizer)"
            )
        self.model = model
        for layer in _layers(model):
            self.add_module(layer.name, layer)

    def __reduce__(self) -> Any:
        return KerasModule, (self.model,)  # the children are layers of the model, also in another process

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the output `(b, k)` for ids `(b, t)`."""
        scores: torch.Tensor = self.model(ids, training=False)
        return scores

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, torch.Tensor]:  # type: ignore[override]
        """Return the weights by their position, because Keras gives them other names in another process."""
        return {str(position): variable.value for position, variable in enumerate(self.model.weights)}


def _layers(model: Any) -> Iterator[Any]:
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _layers(layer)
        else:
            yield layer
