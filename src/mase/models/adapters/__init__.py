"""Adapters: from what a user has to a model of this library. One file per kind; none imports a framework to look.

The built-in adapters are asked in the order of the table, from the special to the general. Those of other packages
come before the last one, which takes anything that can be called.
"""

from mase.registry import Registry

__all__ = ["ADAPTERS"]

ADAPTERS = Registry(
    "adapter",
    {
        "model": "mase.models.adapters.model:ModelAdapter",
        "name": "mase.models.adapters.name:NameAdapter",
        "transformers": "mase.models.adapters.transformers:TransformersAdapter",
        "torch": "mase.models.adapters.torch:TorchAdapter",
        "scikit-learn": "mase.models.adapters.scikit_learn:ScikitLearnAdapter",
        "function": "mase.models.adapters.function:FunctionAdapter",
    },
    "mase.adapters",
)
