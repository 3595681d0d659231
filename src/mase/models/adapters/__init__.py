"""Adapters turn a user's object into a model of this library. One file per kind of object.

The built-in adapters are tried in the order of the table, from the most specific to the most general. Adapters of other
packages are tried before the last one, which accepts any callable. No adapter imports a framework to recognise an
object.
"""

from mase.registry import Registry

__all__ = ["ADAPTERS"]

ADAPTERS = Registry(
    "adapter",
    {
        "model": "mase.models.adapters.model:ModelAdapter",
        "name": "mase.models.adapters.name:NameAdapter",
        "language": "mase.models.adapters.language:LanguageModelAdapter",
        "pipeline": "mase.models.adapters.pipeline:PipelineAdapter",
        "transformers": "mase.models.adapters.transformers:TransformersAdapter",
        "keras": "mase.models.adapters.keras:KerasAdapter",
        "onnx": "mase.models.adapters.onnx:OnnxAdapter",
        "torch": "mase.models.adapters.torch:TorchAdapter",
        "scikit-learn": "mase.models.adapters.scikit_learn:ScikitLearnAdapter",
        "function": "mase.models.adapters.function:FunctionAdapter",
    },
    "mase.adapters",
)
