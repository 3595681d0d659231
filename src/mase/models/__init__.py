"""Models: one file per framework turns what users have into the protocols `Model` and `Probe`.

`mase.models.adapters` chooses the right one for an object.
"""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names
from mase.models.adapters import ADAPTERS
from mase.models.adapters.adapt import adapt
from mase.models.adapters.protocol import Adapter
from mase.models.loading import load

if TYPE_CHECKING:
    from mase.models.callable import Callable as Callable
    from mase.models.http.json_service import JSONService as JSONService
    from mase.models.http.kserve import KServe as KServe
    from mase.models.http.text_embeddings_inference import TextEmbeddingsInference as TextEmbeddingsInference
    from mase.models.keras import KerasModel as KerasModel
    from mase.models.keras_torch import KerasModule as KerasModule
    from mase.models.language.causal import CausalLM as CausalLM
    from mase.models.language.completion_server import CompletionServer as CompletionServer
    from mase.models.language.label_words import LabelWords as LabelWords
    from mase.models.language.seq2seq import Seq2Seq as Seq2Seq
    from mase.models.onnx import OnnxModel as OnnxModel
    from mase.models.onnx_export import export_onnx as export_onnx
    from mase.models.protocol import Binding as Binding
    from mase.models.protocol import Model as Model
    from mase.models.protocol import Probe as Probe
    from mase.models.torch_module import TorchModule as TorchModule
    from mase.models.transformers import HuggingFace as HuggingFace
    from mase.models.zero_shot import ZeroShot as ZeroShot

__all__ = [
    "ADAPTERS",
    "Adapter",
    "Binding",
    "Callable",
    "CausalLM",
    "CompletionServer",
    "HuggingFace",
    "JSONService",
    "KServe",
    "KerasModel",
    "KerasModule",
    "LabelWords",
    "Model",
    "OnnxModel",
    "Probe",
    "Seq2Seq",
    "TextEmbeddingsInference",
    "TorchModule",
    "ZeroShot",
    "adapt",
    "export_onnx",
    "load",
]

if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Binding": "mase.models.protocol",
            "Model": "mase.models.protocol",
            "Probe": "mase.models.protocol",
            "Callable": "mase.models.callable",
            "CausalLM": "mase.models.language.causal",
            "CompletionServer": "mase.models.language.completion_server",
            "HuggingFace": "mase.models.transformers",
            "LabelWords": "mase.models.language.label_words",
            "Seq2Seq": "mase.models.language.seq2seq",
            "JSONService": "mase.models.http.json_service",
            "KServe": "mase.models.http.kserve",
            "TextEmbeddingsInference": "mase.models.http.text_embeddings_inference",
            "KerasModel": "mase.models.keras",
            "KerasModule": "mase.models.keras_torch",
            "OnnxModel": "mase.models.onnx",
            "export_onnx": "mase.models.onnx_export",
            "TorchModule": "mase.models.torch_module",
            "ZeroShot": "mase.models.zero_shot",
        },
        needs={
            "TorchModule": [("torch", "torch")],
            "CausalLM": [("torch", "hf"), ("transformers", "hf")],
            "Seq2Seq": [("torch", "hf"), ("transformers", "hf")],
            "HuggingFace": [("torch", "hf"), ("transformers", "hf")],
            "KerasModel": [("keras", "keras")],
            "KerasModule": [("keras", "keras"), ("torch", "torch")],
            "OnnxModel": [("onnxruntime", "onnx")],
            "ZeroShot": [("torch", "hf"), ("transformers", "hf")],
            "export_onnx": [("onnxruntime", "onnx"), ("torch", "hf"), ("transformers", "hf")],
        },
    )
