"""Turn a user's object into a model with the first adapter that recognises it."""

from typing import Any

from mase.errors import OptionError, PluginError
from mase.models.adapters import ADAPTERS
from mase.models.adapters.protocol import Adapter
from mase.models.compiled import unwrapped
from mase.models.protocol import Model

__all__ = ["adapt"]


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
            return adapter.adapt(model, tokenizer, name=name)
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
