"""Which model it is, and how another process opens it again."""

import io
import os
import pickle
import reprlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, Protocol, SupportsIndex

from mase.errors import DataError, MaseError, NotPicklableError
from mase.links import Output
from mase.models.base import Model
from mase.models.language.base import LanguageModel
from mase.models.limits import is_folder

# What `__reduce__` returns: a function and its arguments.
Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


class Origin(Protocol):
    """How a model was opened, so that another process can open it again."""

    def reduced(self, model: Any) -> Reduced | None:
        """Return the function that opens the model again and its arguments; None if the model has changed since."""
        ...


class Reopened:
    """A base of the adapters of this library: a model with an `origin` is pickled as that, any other by its state."""

    origin: Origin | None = None

    def __repr__(self) -> str:
        # `labels` of an adapter with `_labels`, those that were given, may have to ask the model.
        labels = self._labels if hasattr(self, "_labels") else getattr(self, "labels", None)
        told = "" if labels is None else f", labels={reprlib.repr(list(labels))}"
        return f"<{type(self).__name__} {getattr(self, 'name', None)!r}{told}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        by_origin = None if self.origin is None else self.origin.reduced(self)
        return super().__reduce_ex__(protocol) if by_origin is None else by_origin


@dataclass(frozen=True, slots=True)
class Loaded:
    """The origin of a torch model that was loaded by a name, or from a folder.

    Attributes
    ----------
    load
        The function that loaded it.
    arguments
        Its arguments, apart from `device`. Folders are absolute.
    versions
        The version of each tensor after loading (`mase.models.torch.weights.Checksum.versions`). With other versions,
        the model was trained or moved, so that it is pickled by its weights.
    """

    load: Callable[..., Any]
    arguments: Mapping[str, Any]
    versions: tuple[Any, ...]

    def reduced(self, model: Any) -> Reduced | None:
        """Return the call that loads the model again, on its device if there is one, and compares the checksums."""
        if model.checksum.versions() != self.versions:
            return None
        return reopened, (self.load, dict(self.arguments), str(model.device), model.sha256)


def reopened(load: Callable[..., Any], arguments: Mapping[str, Any], device: str | None, sha256: str | None) -> Any:
    """Return the model that `load(**arguments)` returns, on `device` or, if this machine has none, on another one."""
    if device is not None:
        from mase.models.torch.engine import available

        arguments = {**arguments, "device": available(device)}
    model = load(**arguments)
    if model.sha256 != sha256:
        raise DataError(
            f"the weights of {model.name!r} have the sha256 {model.sha256} in this process, expected {sha256}, with "
            "which the model was pickled; use the same files and versions in all processes, or pass the module itself"
        )
    return model


def absolute(name_or_path: str | os.PathLike[str]) -> str | Path:
    """Return the absolute path of a folder; any other name is returned as it is."""
    path = Path(name_or_path)
    if not isinstance(name_or_path, str) or is_folder(path):
        return path.absolute()
    return name_or_path


# Modules that another process does not have: the script or notebook of this process, and a file that was run as code.
_ONLY_HERE = ("__main__", "__mp_main__", "__mase_model__")
_REMEDY = "put it into a module and name it as module:function or file.py:function, or run in this process"


def dumps(value: object) -> bytes:
    """Return an explainer, a model or a part of one as bytes, for `pickle.loads` in another process.

    `pickle.dumps` writes the same, but it also accepts functions and classes of a script or a notebook, which another
    process cannot find.
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    except (MaseError, MemoryError):
        raise
    except Exception as error:  # the user's objects may raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise NotPicklableError(
            f"a part of {type(value).__name__} cannot be sent to another process ({reason:.300}), expected parts that "
            f"can be pickled; if it is a function of yours, {_REMEDY}"
        ) from error
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """A pickler that refuses functions and classes which only this process has."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | FunctionType) and value.__module__ in _ONLY_HERE:
            raise NotPicklableError(
                f"{value.__qualname__} is defined in a script or a notebook ({value.__module__}), which another "
                f"process cannot import; {_REMEDY}"
            )
        if callable(getattr(type(value), "bind", None)):  # a model, perhaps of another package
            origin = getattr(value, "origin", None)
            if origin is not None and hasattr(origin, _CODE) and not isinstance(value, Reopened):
                return origin.reduced(value)
        packed = sys.modules.get("mase.models.torch.weights")
        if packed is not None and isinstance(value, packed.Packed):
            return packed.unpacked, (value.content(_CHECKED),)
        return NotImplemented


_CHECKED = SimpleNamespace(__name__="pickle", Pickler=_Pickler)

# The checksum of the source file of a model. It says nothing of what the code loads, and earlier releases did not
# record it in attributions.
_CODE = "code_sha256"

# How a model reads texts, and what its columns are, which runs record.
_READS, _OUTPUT = "reads", "output"


def identity(model: Model) -> dict[str, Any]:
    """Return the name and the checksum of a model, of a language model how it is prompted, and of code its checksum.

    The values are plain JSON types.
    """
    prompted = model.prompting
    code = getattr(getattr(model, "origin", None), _CODE, None)
    return {"name": model.name, "sha256": model.sha256, **prompted, **({} if code is None else {_CODE: code})}


def identity_in_run(model: Model) -> dict[str, Any]:
    """Return the identity of a model with how it reads texts and what its columns are, which take long to find out."""
    reads, output = reads_of(model), getattr(model, "output", None)
    told = {"kind": output.kind, "multilabel": output.multilabel} if isinstance(output, Output) else {}
    return identity(model) | {key: value for key, value in ((_READS, reads), (_OUTPUT, told)) if value}


def is_multilabel(recorded: Mapping[str, Any]) -> bool | None:
    """Return whether the classes of a recorded model are separate questions; None if it is not known."""
    output = recorded.get(_OUTPUT)
    return output.get("multilabel") if isinstance(output, Mapping) else None


def reads_of(model: Model | LanguageModel) -> dict[str, Any]:
    """Return how a model reads texts, as plain JSON types; empty if it does not say."""
    return dict(model.reads())


def as_recorded(model: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a model, without what a recorded one may lack and this one lacks."""
    return {key: value for key, value in model.items() if key not in (_CODE, _READS, _OUTPUT) or key in recorded}


def is_same(item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two identities are of the same model. What may be missing counts if both have it."""
    return as_recorded(item, other) == as_recorded(other, item)


def has_checksum(recorded: Mapping[str, Any]) -> bool:
    """Return whether a model has a checksum, by which it is known again; that of its code does not suffice."""
    return any(value is not None for key, value in recorded.items() if key.endswith("sha256") and key != _CODE)


def unknown_model(recorded: Mapping[str, Any], kept: str, remedy: str) -> str:
    """Return the warning that a model without a checksum may not be the one that made the results which are kept."""
    only = " but that of its source file" if _CODE in recorded else ""
    return (
        f"the model {recorded['name']!r:.100} has no checksum{only}: whether it is the one of {kept}, which are kept, "
        f"is not known; {remedy} if it is not"
    )
