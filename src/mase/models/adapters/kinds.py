"""The adapters whose objects need no more than a call: models, names, modules, sessions and functions.

None imports a framework to recognise an object: no object of a framework exists before the framework is imported.
"""

import os
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from mase.errors import OptionError
from mase.models.language.generated import Generated
from mase.models.language.label_words import LabelWords
from mase.models.language.opening import generates, language_model
from mase.models.language.protocol import LabelledLanguageModel
from mase.models.protocol import Model
from mase.models.tokenizing import check_no_tokenizer

__all__ = [
    "FunctionAdapter", "KerasAdapter", "LanguageModelAdapter", "ModelAdapter", "NameAdapter", "OnnxAdapter",
    "TorchAdapter", "TransformersAdapter",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelAdapter:
    """Accept an object that has the methods of a model, of this library or of another package."""

    understands: ClassVar[str] = "a model of mase.models"

    def recognises(self, model: object) -> bool:
        """Return whether the object can be bound to a text."""
        return callable(getattr(type(model), "bind", None))

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model unchanged, with its own name."""
        del name
        check_no_tokenizer("a model of mase.models", tokenizer)
        adapted: Model = model
        return adapted


@dataclass(frozen=True, slots=True)
class NameAdapter:
    """Load a model by its name, folder or URL; see `mase.models.load`."""

    understands: ClassVar[str] = "a name, folder or URL"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a str or a path."""
        return isinstance(model, str | os.PathLike)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the loaded model, with its own name."""
        del name
        check_no_tokenizer("a model that is loaded by its name", tokenizer)
        from mase.models.loading import load

        return load(model)


@dataclass(frozen=True, slots=True)
class LanguageModelAdapter:
    """Accept a language model of this library or of transformers (with its tokenizer), or a pipeline of one.

    What is explained is the probability of its answers.
    """

    understands: ClassVar[str] = "a language model with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object generates text."""
        return generates(model)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model with its answers, or the classifier that its label words make of it."""
        opened = language_model(model, tokenizer, name=name)
        if isinstance(opened, LabelledLanguageModel) and opened.labels is not None:
            return LabelWords(opened, opened.labels, template=opened.template)
        return Generated(opened)


@dataclass(frozen=True, slots=True)
class TransformersAdapter:
    """Accept a Hugging Face classifier, or one with adapters of peft, together with its tokenizer."""

    understands: ClassVar[str] = "a Hugging Face classifier with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a pretrained model, or one with adapters of peft."""
        return _is_of(model, "transformers", "PreTrainedModel") or _is_of(model, "peft", "PeftModel")

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the classifier as a model."""
        _check_tokenizer(model, tokenizer)
        from mase.models.transformers import HuggingFace

        return HuggingFace(model, tokenizer, name=name)


@dataclass(frozen=True, slots=True)
class KerasAdapter:
    """Accept a model of Keras 3 that reads texts, or one that reads ids, together with its vectorizer."""

    understands: ClassVar[str] = "a Keras model that reads texts, or with its vectorizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a model of Keras 3, with any backend."""
        return _is_of(model, "keras", "Model")

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model as a black box."""
        from mase.models.keras import KerasModel

        return KerasModel(model, tokenizer, name=name)


@dataclass(frozen=True, slots=True)
class OnnxAdapter:
    """Accept a session of ONNX Runtime together with its tokenizer."""

    understands: ClassVar[str] = "a session of ONNX Runtime with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a session."""
        return _is_of(model, "onnxruntime", "InferenceSession")

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the session as a model."""
        from mase.models.onnx import OnnxModel

        return OnnxModel(model, tokenizer, name=name)


@dataclass(frozen=True, slots=True)
class TorchAdapter:
    """Accept any torch module that has an embedding layer, together with its tokenizer."""

    understands: ClassVar[str] = "a torch module with its tokenizer"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a module."""
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(model, torch.nn.Module)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the module as a model."""
        _check_tokenizer(model, tokenizer)
        from mase.models.torch_module import TorchModule

        return TorchModule(model, tokenize=tokenizer, name=name)


@dataclass(frozen=True, slots=True)
class FunctionAdapter:
    """Accept any object that can be called with a list of texts: any other classifier can be wrapped in one."""

    understands: ClassVar[str] = "a function from texts to probabilities (n, k)"

    def recognises(self, model: object) -> bool:
        """Return whether the object is callable."""
        return callable(model)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the function as a model."""
        check_no_tokenizer("a function", tokenizer)
        from mase.models.callable import Callable

        return Callable(model, name=name)


def _is_of(model: object, package: str, kind: str) -> bool:
    """Return whether an object is an instance of a class of a package, if that is imported."""
    module = sys.modules.get(package)
    return module is not None and isinstance(model, getattr(module, kind))


def _check_tokenizer(module: object, tokenizer: object) -> None:
    """Check that a module has a tokenizer."""
    if tokenizer is None:
        raise OptionError(
            f"{type(module).__name__} has no tokenizer, expected Explainer(model, tokenizer) for a Hugging Face "
            "model, or mase.models.TorchModule(module, tokenize=..., labels=[...]) for any other"
        )
