"""Pickle an explainer or a model for another process, with a clear error for what cannot be pickled."""

import io
import pickle
import sys
from types import FunctionType, SimpleNamespace
from typing import Any

from mase.errors import MaseError, NotPicklableError
from mase.models.code_reference import CodeReference
from mase.models.origin import Reopened

__all__ = ["dumps"]

# Modules that another process does not have: the script or notebook of this process, and a file that was run as code.
_ONLY_HERE = ("__main__", "__mp_main__", "__mase_model__")
_REMEDY = "put it into a module and name it as module:function or file.py:function, or run in this process"


def dumps(value: object) -> bytes:
    """Return an explainer, a model or a part of one as bytes, for `pickle.loads` in another process.

    `pickle.dumps` writes the same, but it also accepts functions and classes of a script or a notebook, which another
    process cannot find.

    Raises
    ------
    NotPicklableError
        If a part cannot be pickled, such as a lambda, or is defined in a script or a notebook.
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
            if isinstance(origin, CodeReference) and not isinstance(value, Reopened):
                return origin.reduced(value)
        packed = sys.modules.get("mase.models.packed")
        if packed is not None and isinstance(value, packed.Packed):
            return packed.unpacked, (value.content(_CHECKED),)
        return NotImplemented


_CHECKED = SimpleNamespace(__name__="pickle", Pickler=_Pickler)
