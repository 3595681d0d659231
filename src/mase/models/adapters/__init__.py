"""Adapters: from what a user has to a model of this library. One file per kind; none imports a framework to look.

The built-in adapters are asked in the order of the table, from the special to the general. Those of other packages
come before the last one, which takes anything that can be called.
"""

from typing import Any, ClassVar, Protocol

from mase.errors import OptionError, PluginError
from mase.models.protocol import Model
from mase.registry import Registry

__all__ = ["ADAPTERS", "Adapter", "adapt"]

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


class Adapter(Protocol):
    """One kind of object that can be explained.

    Attributes
    ----------
    understands
        What it takes, in words, for the error that says what is expected.
    """

    understands: ClassVar[str]

    def recognises(self, model: object) -> bool:
        """Return whether the object is of this kind; a framework that is not loaded yet has made no object."""
        ...

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the object as a model; `name` is what to call it, None for its own name.

        Raises
        ------
        OptionError, CapabilityError
            If an object of this kind cannot be explained.
        """
        ...


def adapt(model: Any, tokenizer: Any = None, *, name: str | None = None) -> Model:
    """Return `model` as a model of this library.

    Parameters
    ----------
    model
        A model already, a name or folder, a Hugging Face classifier or another torch module (with its tokenizer), a
        fitted estimator or pipeline of scikit-learn that takes texts, a function `list[str] -> (n, k)`, or what an
        adapter of another package takes.
    tokenizer
        The tokenizer of a torch module.
    name
        What to call a function or an estimator, for provenance; its own name by default.

    Raises
    ------
    OptionError
        If it is none of these.
    CapabilityError
        If it is an estimator without probabilities.
    """
    if isinstance(model, type):
        raise OptionError(f"model is the class {model.__name__}, expected an object of it, as in {model.__name__}(...)")
    asked, broken = [], []
    for key in _in_order():
        try:
            adapter: Adapter = ADAPTERS[key]()
        except PluginError as error:  # it costs the objects of that package only
            broken.append(f"; {error}")
            continue
        if adapter.recognises(model):
            return adapter.adapt(model, tokenizer, name=name)
        asked.append(adapter.understands)
    raise OptionError(f"model is of type {type(model).__name__}, expected {', '.join(asked)}{''.join(broken)}")


def _in_order() -> tuple[str, ...]:
    """Return the names of the adapters in their order of precedence."""
    *special, general = ADAPTERS.entries
    return *special, *ADAPTERS.added, general
