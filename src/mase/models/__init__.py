"""Models: what users have, as a `Model` that is asked about a text through a `Probe`.

`mase.models.open` chooses the right one for an object.
"""

from typing import TYPE_CHECKING

from mase.models.open import ADAPTERS, Adapter, adapt, load
from mase.registry import lazy_names

if TYPE_CHECKING:
    from mase.models.base import Binding as Binding
    from mase.models.base import Model as Model
    from mase.models.base import Probe as Probe
    from mase.models.chat.chat import Chat as Chat
    from mase.models.function import Callable as Callable
    from mase.models.http.dialects import JSONService as JSONService
    from mase.models.http.dialects import KServe as KServe
    from mase.models.http.dialects import TextEmbeddingsInference as TextEmbeddingsInference
    from mase.models.keras import KerasModel as KerasModel
    from mase.models.language.answers import LabelWords as LabelWords
    from mase.models.language.server import CompletionServer as CompletionServer
    from mase.models.language.torch import CausalLM as CausalLM
    from mase.models.language.torch import Seq2Seq as Seq2Seq
    from mase.models.onnx import OnnxModel as OnnxModel
    from mase.models.torch.keras import KerasModule as KerasModule
    from mase.models.torch.module import TorchModule as TorchModule
    from mase.models.torch.onnx_export import export_onnx as export_onnx
    from mase.models.transformers import HuggingFace as HuggingFace
    from mase.models.zero_shot import ZeroShot as ZeroShot

__all__ = [
    "ADAPTERS",
    "Adapter",
    "Binding",
    "Callable",
    "CausalLM",
    "Chat",
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
            "Binding": "mase.models.base",
            "Model": "mase.models.base",
            "Probe": "mase.models.base",
            "Callable": "mase.models.function",
            "CausalLM": "mase.models.language.torch",
            "Chat": "mase.models.chat.chat",
            "CompletionServer": "mase.models.language.server",
            "HuggingFace": "mase.models.transformers",
            "LabelWords": "mase.models.language.answers",
            "Seq2Seq": "mase.models.language.torch",
            "JSONService": "mase.models.http.dialects",
            "KServe": "mase.models.http.dialects",
            "TextEmbeddingsInference": "mase.models.http.dialects",
            "KerasModel": "mase.models.keras",
            "KerasModule": "mase.models.torch.keras",
            "OnnxModel": "mase.models.onnx",
            "export_onnx": "mase.models.torch.onnx_export",
            "TorchModule": "mase.models.torch.module",
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
