"""How the workers of a run open its explainer."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from mase.errors import OptionError
from mase.explainer import Explainer
from mase.models.code_reference import is_code, open_code
from mase.options import ExplainerOptions

__all__ = ["of_documents", "opening"]


def opening(model: Any, tokenizer: Any, options: ExplainerOptions) -> Callable[[], Explainer]:
    """Return what opens the explainer in a worker.

    Raises
    ------
    OptionError
        If an explainer comes with options.
    MaseError
        If an object cannot be explained.
    """
    if isinstance(model, Explainer):
        if tokenizer is not None or options:
            names = ", ".join(options) or "tokenizer"
            raise OptionError(f"got {names} with an Explainer, expected neither; the explainer has its own options")
        return partial(_same, model)
    options.setdefault("evidence", 0)
    if isinstance(model, str | os.PathLike):
        return partial(_opened, os.fspath(model), tokenizer, dict(options))
    return partial(_same, Explainer(model, tokenizer, **options))


def of_documents(model: Any, options: ExplainerOptions) -> dict[str, Any]:
    """Return the options of the explainer that say how fields of documents are masked."""
    if isinstance(model, Explainer):
        return {"fixed": model.fixed, "background": model.background}
    return {"fixed": options.get("fixed", ()), "background": options.get("background")}


def _same(explainer: Explainer) -> Explainer:
    return explainer


def _opened(name: str, tokenizer: Any, options: Mapping[str, Any]) -> Explainer:
    return Explainer(open_code(name) if is_code(name) else name, tokenizer, **options)
