"""Modules inside other ones that only run them: compiled, parallel or averaged. torch is not imported."""

import sys
from typing import Any

__all__ = ["unwrapped"]

# Packages whose classes hold a module as their attribute `module` and run it on other devices or in another precision.
_WRAPPERS = ("torch.nn.parallel.", "torch.distributed.", "torch.optim.swa_utils", "deepspeed.", "lightning.fabric.")


def unwrapped(model: Any) -> Any:
    """Return the module inside of compiled, parallel and averaged ones; anything else is returned.

    Its code is not run compiled anyway; see `mase.models.borrow`.
    """
    compiler, torch = sys.modules.get("torch._dynamo"), sys.modules.get("torch")
    if torch is None:
        return model
    for _ in range(10):
        inner = None
        if compiler is not None and isinstance(model, compiler.OptimizedModule):
            inner = model._orig_mod
        elif f"{type(model).__module__}.".startswith(_WRAPPERS):
            inner = getattr(model, "module", None)
        if not isinstance(inner, torch.nn.Module):
            break
        model = inner
    return model
