"""Models of Keras 3 on any backend, as black boxes over texts; see `mase.models.torch.keras` for the backend torch.

Keras is imported on first use: without the package of its backend that fails, and `help(mase.models)` would with it.
"""

from collections.abc import Callable as Function
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from mase.errors import CapabilityError, ModelError, OptionError, ShapeError
from mase.models.function import Callable
from mase.models.function import Kind as Outputs
from mase.models.tokens import of_encoding

Kind = Literal["auto"] | Outputs


class KerasModel(Callable):
    """A text classifier of Keras 3, explained by masking words of its texts.

    Parameters
    ----------
    model
        A model with one output `(b, k)`. It is called with ``training=False`` and never changed.
    vectorizer
        What turns texts into the input of the model: a `keras.layers.TextVectorization` or another layer that takes a
        batch of texts, or a function from one text to ids. None if the model reads texts itself. Texts of equal length
        form a batch, so a function that does not pad needs a model that accepts any length.
    labels
        Names of the k classes, or of the second class for one column; "0", "1", ... by default.
    mask_token
        The string that replaces a masked word; None removes the word from the text.
    outputs, multilabel
        What the model returns: "logits", "probabilities", "values", "scores" (see `Callable`) or "auto". By "auto" what
        made the output decides: softmax and sigmoid, as the activation of a dense layer, a layer of their own or an
        operation, give probabilities, and several columns of a sigmoid are separate questions; a dense layer without
        activation gives logits.
    name
        Name for provenance; by default that of the model.

    Raises
    ------
    OptionError
        If the model reads ids and there is no vectorizer, the vectorizer cannot be called, or the last operation of the
        model does not say what it returns.
    CapabilityError
        If the model has several inputs or outputs.
    """

    kind: ClassVar[str] = "Keras model"

    def __init__(
        self,
        model: Any,
        vectorizer: Any = None,
        *,
        labels: Sequence[str] | None = None,
        mask_token: str | None = None,
        outputs: Kind = "auto",
        multilabel: bool = False,
        name: str | None = None,
    ) -> None:
        reads_texts = _reads_texts(model)
        if vectorizer is None and not reads_texts:
            raise OptionError(
                f"{model.name} has no input of strings, expected Explainer(model, vectorizer) with a TextVectorization "
                "layer or a function from a text to ids; if it reads texts, wrap it in mase.models.Callable"
            )
        if vectorizer is not None and not callable(vectorizer):
            raise OptionError(
                f"vectorizer is of type {type(vectorizer).__name__}, expected a function from a text to ids, or a layer"
            )
        if outputs != "auto":
            kind: Outputs = outputs
        else:
            made_by = _last_activation(model)
            if made_by not in ("softmax", "sigmoid", "linear"):
                raise OptionError(
                    f"the output of {model.name} comes from {made_by}, which may be probabilities or not; pass "
                    "mase.models.KerasModel(..., outputs='probabilities'), 'logits' or 'values'"
                )
            kind = "logits" if made_by == "linear" else "probabilities"
            multilabel = multilabel or (made_by == "sigmoid" and model.outputs[0].shape[-1] != 1)
        super().__init__(
            _Scores(model, vectorizer),
            labels,
            mask_token=mask_token,
            multilabel=multilabel,
            outputs=kind,
            name=name or model.name,
        )


@dataclass(frozen=True, slots=True)
class _Scores:
    """A model and its vectorizer as a function from texts to the rows of the output, as an array."""

    model: Any
    vectorizer: Any

    def __call__(self, texts: list[str]) -> Any:
        import keras

        with _without_gradients():
            if self.vectorizer is None:
                rows = texts if len(self.model.inputs[0].shape) == 1 else [[text] for text in texts]
                return self._answer(keras.ops.convert_to_tensor(rows))
            if isinstance(self.vectorizer, keras.layers.Layer):
                return self._answer(self.vectorizer(texts))
            return self._by_length([_ids(self.vectorizer, text) for text in texts])

    def _by_length(self, rows: list[Any]) -> Any:
        by_length: dict[int, list[int]] = {}
        for index, row in enumerate(rows):
            by_length.setdefault(len(row), []).append(index)
        answers = {
            index: answer
            for indices in by_length.values()
            for index, answer in zip(indices, self._answer(np.stack([rows[i] for i in indices])), strict=True)
        }
        return np.stack([answers[index] for index in range(len(rows))])

    def _answer(self, batch: Any) -> Any:
        import keras

        answer = self.model(batch, training=False)
        if isinstance(answer, list | tuple | dict):
            raise ModelError(f"{self.model.name} returned {len(answer)} outputs, expected one of shape (b, k)")
        if keras.backend.backend() == "torch":  # Keras converts tensors of torch in a way of which NumPy 2 warns
            return answer.detach().double().cpu().numpy()
        return keras.ops.convert_to_numpy(answer)


def _ids(function: Function[[str], Any], text: str) -> Any:
    """Return the ids `(t,)` that a function gives for a text; spans after them are left out."""
    result = of_encoding(function(text))
    if isinstance(result, tuple) and len(result) == 2 and np.ndim(result[0]) == 1:
        result = result[0]
    ids = np.asarray(result)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or not len(ids):
        raise ShapeError(
            f"the vectorizer returned {type(result).__name__} of shape {ids.shape} for {text!r:.40}, expected a list "
            "of at least one integer"
        )
    return ids


def _reads_texts(model: Any) -> bool:
    """Return whether the only input of a model holds strings."""
    import keras

    inputs = getattr(model, "inputs", None)
    if inputs is not None and len(inputs) != 1:
        raise CapabilityError(
            f"{model.name} has {len(inputs)} inputs, expected one; wrap it in mase.models.Callable with a function of "
            "texts or records"
        )
    return inputs is not None and keras.backend.standardize_dtype(inputs[0].dtype) == "string"


def _last_activation(model: Any) -> str:
    """Return "softmax", "sigmoid" or "linear", the function that made the output, or in words what else made it."""
    import keras

    if not getattr(model, "outputs", None):  # a subclass of Model, or a Sequential that has seen no input
        return "layers that have seen no input, or whose order is not known"
    made_by = model.outputs[0]._keras_history.operation
    if isinstance(made_by, keras.Model):
        return _last_activation(made_by)
    if isinstance(made_by, keras.layers.Softmax | _operation(keras.ops.softmax)):
        return "softmax"
    if isinstance(made_by, _operation(keras.ops.sigmoid)):
        return "sigmoid"
    if not isinstance(made_by, keras.layers.Dense | keras.layers.Activation):
        return f"{type(made_by).__name__}"
    name = getattr(made_by.activation, "__name__", "an activation without name")
    # A linear activation alone changes nothing, so that it does not say what its input is.
    is_alone = isinstance(made_by, keras.layers.Activation) and name == "linear"
    return "an activation that changes nothing" if is_alone else str(name)


def _operation(function: Function[[Any], Any]) -> type:
    """Return the class of the operation that a function of `keras.ops` adds to a model, for which Keras has no name."""
    import keras

    return type(function(keras.KerasTensor((1, 2)))._keras_history.operation)


def _without_gradients() -> AbstractContextManager[Any]:
    import keras

    if keras.backend.backend() != "torch":
        return nullcontext()
    import torch

    return torch.no_grad()
