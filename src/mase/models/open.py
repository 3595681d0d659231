"""From a name, a folder, a URL or an object to a `Model`.

The built-in adapters are tried in the order of the table, from the most specific to the most general. Adapters of other
packages are tried before the last one, which accepts any callable. No adapter imports a framework to recognise an
object.

None imports a framework to recognise an object: no object of a framework exists before the framework is imported.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from mase.errors import CapabilityError, DataError, OptionError, PluginError
from mase.models.base import Model, unwrapped
from mase.models.bundled import ADAPTED, BUNDLED, is_adapted, named
from mase.models.language.answers import Generated, LabelWords
from mase.models.language.base import LanguageModel
from mase.models.language.open import generates, language_model
from mase.models.names import check_local_path, exists, is_cached, is_file, is_remote
from mase.models.tokens import check_no_tokenizer
from mase.registry import Registry, completed, require, unknown

ADAPTERS = Registry(
    "adapter",
    {
        "model": "mase.models.open:ModelAdapter",
        "name": "mase.models.open:NameAdapter",
        "chat": "mase.models.open:ChatAdapter",
        "language": "mase.models.open:LanguageModelAdapter",
        "pipeline": "mase.models.open:PipelineAdapter",
        "transformers": "mase.models.open:TransformersAdapter",
        "keras": "mase.models.open:KerasAdapter",
        "onnx": "mase.models.open:OnnxAdapter",
        "torch": "mase.models.open:TorchAdapter",
        "scikit-learn": "mase.models.sklearn:ScikitLearnAdapter",
        "function": "mase.models.open:FunctionAdapter",
    },
    "mase.adapters",
)


class Adapter(Protocol):
    """One kind of object that can be explained.

    Attributes
    ----------
    understands
        Description of the objects that it accepts, for error messages.
    """

    understands: ClassVar[str]

    def recognises(self, model: object) -> bool:
        """Return whether the object is of this kind.

        Do not import a framework for this: no object of a framework exists before the framework is imported.
        """
        ...

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the object as a model with the given `name`, or with its own name for None.

        What has a name already, such as a model of `mase.models`, keeps it.

        Raises
        ------
        OptionError, CapabilityError
            If an object of this kind cannot be explained, or a tokenizer is given that it does not need.
        """
        ...


def adapt(model: Any, tokenizer: Any = None, *, name: str | None = None) -> Model:
    """Return `model` as a model of this library.

    Parameters
    ----------
    model
        A model of this library, a name, folder or URL, a Hugging Face classifier or another torch module (with its
        tokenizer), a fitted estimator or pipeline of scikit-learn that takes texts, a function `list[str] -> (n, k)`,
        or an object that an adapter of another package recognises.
    tokenizer
        The tokenizer of a torch module; None for what reads texts by itself.
    name
        Name of a function, an estimator or a module, for provenance; its own name by default. What has a name already,
        such as a model of `mase.models` or one that is loaded by its name, keeps it.

    Raises
    ------
    OptionError
        If it is none of these, or a tokenizer is given that it does not need.
    CapabilityError
        If it is an estimator without probabilities.
    """
    if isinstance(model, type):
        raise OptionError(f"model is the class {model.__name__}, expected an instance, as in {model.__name__}(...)")
    model, understood, broken = unwrapped(model), [], []
    for key in _in_order():
        try:
            adapter, is_right = _asked(key, model)
        except PluginError as error:  # a broken plug-in must not affect other objects
            broken.append(f"; {error}")
            continue
        if is_right:
            adapted = adapter.adapt(model, tokenizer, name=name)
            if not isinstance(adapted.name, str) or not adapted.name:
                raise OptionError(f"the name of the model is {adapted.name!r:.60}, expected a str that is not empty")
            return adapted
        understood.append(adapter.understands)
    raise OptionError(f"model is of type {type(model).__name__}, expected {', '.join(understood)}{''.join(broken)}")


def _asked(key: str, model: Any) -> tuple[Adapter, bool]:
    """Return the adapter of a name, and whether it recognises the object."""
    adapter_class = ADAPTERS[key]
    try:
        adapter: Adapter = adapter_class()
        return adapter, adapter.recognises(model)
    except Exception as error:
        if key in ADAPTERS.entries:
            raise
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise PluginError(
            f"adapter {key!r} of {ADAPTERS.added_by(key)} fails ({message}); update or uninstall that package"
        ) from error


def _in_order() -> tuple[str, ...]:
    """Return the names of the adapters in their order of precedence."""
    *special, general = ADAPTERS.entries
    return *special, *ADAPTERS.added, general


def load(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> Model:
    """Return a model by name: a bundled one, a folder of `mase train`, an ONNX file, one of Hugging Face, or a URL.

    Parameters
    ----------
    name_or_path
        ``"lstm-imdb"``, ``"lstm-reuters"``, ``"bert-imdb"``, ``"bert-reuters"``, ``"mpnet-imdb"``, ``"mpnet-reuters"``,
        a folder, a ``.onnx`` file with its tokenizer beside it, or the name of a Hugging Face model that is in its
        local cache: a classifier, or a language model, whose answers are explained
        (`mase.models.language.answers.Generated`). A `Path` is always a folder or a file. A str that begins with
        ``http://`` or ``https://`` is the URL of a model (`mase.models.http.open_url`), and a file that ends in
        ``.json`` describes one (`open_description`).
    download
        Whether a Hugging Face model that is not on this machine may be downloaded.
    device
        Where to put the model, for example ``"cuda"``; the CPU by default.
    trust_remote_code
        Whether the code of a Hugging Face model may run. If False, a model that needs its own code is refused.

    Raises
    ------
    UnknownNameError
        If there is no such model.
    DataError
        If nothing is at a path, or its files cannot be read, are beyond the limits (`mase.models.limits`), or would
        run code.
    MissingDependencyError
        If torch (or transformers) is not installed.
    OptionError
        If this is no name or path, the URL or the description of a model is invalid, or one is given with an option
        that does not apply to it.
    ServiceError
        If the server of a URL does not answer.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise OptionError(
            f"got a model of type {type(name_or_path).__name__}, expected a name, a path or a URL; pass any other "
            "model itself, as in mase.Explainer(model)"
        )
    name = os.fspath(name_or_path)
    if is_remote(name_or_path):
        if download or device is not None or trust_remote_code:
            raise OptionError("got download, device or trust_remote_code with a URL, expected none: the server decides")
        return _behind_url(name)
    check_local_path(name_or_path)
    local = named(name_or_path, (*BUNDLED, *ADAPTED)) or exists(name)
    if local and is_adapted(name_or_path):
        require("torch", "hf")
        require("transformers", "hf")
        from mase.models import bundled

        return bundled.load_adapted(name_or_path, device=device)
    if local and is_onnx(name):
        require("onnxruntime", "onnx")
        require("tokenizers", "onnx")
        from mase.models.onnx import read

        return read(name, device=device)
    if local and (named(name_or_path, BUNDLED) or (Path(name) / "vocabulary.txt").is_file()):
        require("torch", "torch")
        from mase.models import bundled

        return bundled.load(name_or_path, device=device)
    if is_file(name):
        raise DataError(
            f"{name!r} is a file, expected a .onnx file, the folder of a model, or a name; load any other file in "
            "Python and pass the model, to a command as FILE.py:NAME"
        )
    if not (local or "/" in name or download or is_cached(name)):
        raise unknown(
            "model",
            name,
            [*BUNDLED, *ADAPTED, "a folder with a Hugging Face model"],
            "; on the Hugging Face hub it is owner/name, which download=True downloads",
        )
    return _of_transformers(name_or_path, download=download, device=device, trust_remote_code=trust_remote_code)


def _behind_url(name: str) -> Model:
    """Return the model at a URL, or of a file that describes how to ask it."""
    from mase.models.http import open_remote

    opened = open_remote(name)
    return Generated(opened) if isinstance(opened, LanguageModel) else opened


def _of_transformers(
    name_or_path: str | os.PathLike[str], *, download: bool, device: str | None, trust_remote_code: bool
) -> Model:
    """Return the classifier or the language model of a folder or of the hub."""
    require("torch", "hf")
    require("transformers", "hf")
    from mase.models.language.open import is_language_model, load_language_model

    if is_language_model(name_or_path, download=download):
        from mase.models.language.answers import Generated

        model = load_language_model(name_or_path, download=download, device=device, trust_remote_code=trust_remote_code)
        return Generated(model)
    from mase.models.transformers import HuggingFace

    name = os.fspath(name_or_path)
    return HuggingFace(name, download=download, device=device, trust_remote_code=trust_remote_code)


def is_onnx(name: str) -> bool:
    """Return whether this is a `.onnx` file, or a folder whose only weights are in a `model.onnx`."""
    path = Path(name)
    return path.suffix == ".onnx" or ((path / "model.onnx").is_file() and not (path / "model.safetensors").is_file())


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
        return completed(model, Model)


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

        return load(model)


@dataclass(frozen=True, slots=True)
class ChatAdapter:
    """Accept a chat model with labels, which classifies texts."""

    understands: ClassVar[str] = "a chat model with labels"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a chat model."""
        loaded = sys.modules.get("mase.models.chat.chat")
        return loaded is not None and isinstance(model, loaded.Chat)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the classifier that the labels make of it, with its own name."""
        del name
        check_no_tokenizer("a model of mase.models", tokenizer)
        from mase.models.chat.answers import ChatLabels

        return ChatLabels(model)


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
        if opened.labels is not None:
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
        from mase.models.torch.module import TorchModule

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
        from mase.models.function import Callable

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


# Arguments of the tokenizer that change nothing for a single text or pair.
_WITHOUT_EFFECT = ("padding", "pad_to_multiple_of", "return_token_type_ids", "return_attention_mask", "verbose")
_WHOLE = (False, "do_not_truncate")
_LONGEST_FIRST = (True, "longest_first")


@dataclass(frozen=True, slots=True)
class PipelineAdapter:
    """Accept pipelines for text classification and zero-shot classification."""

    understands: ClassVar[str] = "a pipeline of transformers for text classification or zero-shot classification"

    def recognises(self, model: object) -> bool:
        """Return whether the object is a pipeline of transformers."""
        pipelines = sys.modules.get("transformers.pipelines")
        return pipelines is not None and isinstance(model, pipelines.Pipeline)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the model inside of the pipeline, whose predictions are those of the pipeline.

        Raises
        ------
        CapabilityError
            If the pipeline does something else than classify texts.
        OptionError
            If it has arguments that cannot be followed, or a tokenizer is given as well.
        """
        check_no_tokenizer("a pipeline", tokenizer)
        pipelines = sys.modules["transformers.pipelines"]
        if isinstance(model, pipelines.ZeroShotClassificationPipeline):
            return _zero_shot(model)
        if isinstance(model, pipelines.TextClassificationPipeline):
            return _classifier(model, name)
        raise CapabilityError(
            f"{type(model).__name__} does not classify texts, expected a pipeline for text-classification or "
            "zero-shot-classification; of any other, pass a function from texts to probabilities (n, k)"
        )


def _classifier(pipe: Any, name: str | None) -> Model:
    """Return the classifier; a pipeline says only in private attributes what it was given."""
    from mase.models.transformers import HuggingFace

    given = dict(pipe._preprocess_params)
    truncation, longest = given.pop("truncation", None), given.pop("max_length", None)
    unknown = sorted(given.keys() - set(_WITHOUT_EFFECT))
    if truncation is None:  # as transformers reads it: a length alone cuts texts, unless it is that of the padding
        truncation = longest is not None and given.get("padding", False) is False
    if unknown or truncation not in (*_WHOLE, *_LONGEST_FIRST):
        what = f"truncation={truncation!r}" if not unknown else f"{unknown[0]}={given[unknown[0]]!r:.60}"
        raise OptionError(
            f"the pipeline passes {what} to its tokenizer, expected only truncation=True, max_length and padding; pass "
            "a function from texts to probabilities (n, k)"
        )
    return HuggingFace(
        pipe.model,
        pipe.tokenizer,
        max_length=None if truncation in _WHOLE else longest,
        name=name,
        **_head(pipe),
    )


def _head(pipe: Any) -> dict[str, Any]:
    """Return the options for what the pipeline applies to the logits."""
    chosen, config = pipe._postprocess_params.get("function_to_apply"), pipe.model.config
    if chosen is not None:
        function = chosen.value
    elif config.problem_type == "regression":
        function = "none"
    else:
        separate = config.problem_type == "multi_label_classification" or config.num_labels == 1
        function = "sigmoid" if separate else "softmax"
    if function == "softmax" and config.num_labels == 1:
        raise OptionError("the pipeline applies a softmax to one label, which is always 1, expected 'sigmoid'")
    if function == "none":  # logits as they are: the largest is the prediction, unless they are no class scores
        return {"outputs": "values" if config.problem_type == "regression" or config.num_labels == 1 else "scores"}
    return {"outputs": "logits", "multilabel": function == "sigmoid"}


def _zero_shot(pipe: Any) -> Model:
    from mase.models.zero_shot import ZeroShot

    given, after = pipe._preprocess_params, pipe._postprocess_params
    if "candidate_labels" not in given:
        raise OptionError(
            "the pipeline has no candidate labels, expected pipeline('zero-shot-classification', ..., "
            "candidate_labels=[...]), or mase.models.ZeroShot(pipe.model, pipe.tokenizer, labels=[...])"
        )
    more = {"template": given["hypothesis_template"]} if "hypothesis_template" in given else {}
    multilabel = after.get("multi_label", False)
    return ZeroShot(pipe.model, pipe.tokenizer, labels=given["candidate_labels"], multilabel=multilabel, **more)
