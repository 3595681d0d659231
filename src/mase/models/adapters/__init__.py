"""Adapters turn a user's object into a model of this library. The short ones share a file.

The built-in adapters are tried in the order of the table, from the most specific to the most general. Adapters of other
packages are tried before the last one, which accepts any callable. No adapter imports a framework to recognise an
object.
"""

from mase.registry import Registry

__all__ = ["ADAPTERS"]

ADAPTERS = Registry(
    "adapter",
    {
        "model": "mase.models.adapters.kinds:ModelAdapter",
        "name": "mase.models.adapters.kinds:NameAdapter",
        "language": "mase.models.adapters.kinds:LanguageModelAdapter",
        "pipeline": "mase.models.adapters.pipeline:PipelineAdapter",
        "transformers": "mase.models.adapters.kinds:TransformersAdapter",
        "keras": "mase.models.adapters.kinds:KerasAdapter",
        "onnx": "mase.models.adapters.kinds:OnnxAdapter",
        "torch": "mase.models.adapters.kinds:TorchAdapter",
        "scikit-learn": "mase.models.adapters.scikit_learn:ScikitLearnAdapter",
        "function": "mase.models.adapters.kinds:FunctionAdapter",
    },
    "mase.adapters",
)
