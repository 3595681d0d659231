"""Modules that `torch.compile` made. torch is not imported."""

import sys
from typing import Any

__all__ = ["uncompiled"]


def uncompiled(model: Any) -> Any:
    """Return the module inside of a compiled one, whose code is not run compiled anyway; anything else is returned.

    See `mase.models.borrow`.
    """
    compiler = sys.modules.get("torch._dynamo")
    return model._orig_mod if compiler is not None and isinstance(model, compiler.OptimizedModule) else model
