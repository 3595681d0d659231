"""Where a model came from. A model that was opened by a name is pickled as that name, and opened again elsewhere."""

import os
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, SupportsIndex

from mase.errors import DataError
from mase.models.document import is_folder

__all__ = ["Loaded", "Origin", "Reopened", "absolute", "reopened"]

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
        The version of each tensor after loading (`mase.models.checksum.Checksum.versions`). With other versions, the
        model was trained or moved, so that it is pickled by its weights.
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
    """Return the model that `load(**arguments)` returns, on `device` or, if this machine has none, on another one.

    Raises
    ------
    DataError
        If its weights have another checksum than `sha256`, or it cannot be loaded.
    """
    if device is not None:
        from mase.models.devices import available

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
