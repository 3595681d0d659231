"""mase: explain which words a text classifier relies on, with standard errors, fit quality and provenance.

>>> import mase
>>> "mase" in mase.METHODS
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mase import models as models
    from mase.attribution import Attribution as Attribution
    from mase.errors import MaseError as MaseError
    from mase.explainer import Explainer as Explainer
    from mase.explainer import explain as explain
    from mase.io.json import load as load
    from mase.methods import METHODS as METHODS
    from mase.methods import Method as Method
    from mase.regression.precision import QueryOptions as QueryOptions
    from mase.regression.stopping import Stopping as Stopping

__version__ = "0.2.0"

_LAZY = {
    "Attribution": "mase.attribution:Attribution",
    "Explainer": "mase.explainer:Explainer",
    "METHODS": "mase.methods:METHODS",
    "MaseError": "mase.errors:MaseError",
    "Method": "mase.methods:Method",
    "QueryOptions": "mase.regression.precision:QueryOptions",
    "Stopping": "mase.regression.stopping:Stopping",
    "explain": "mase.explainer:explain",
    "load": "mase.io.json:load",
    "models": "mase.models:",
}

__all__ = [
    "METHODS",
    "Attribution",
    "Explainer",
    "MaseError",
    "Method",
    "QueryOptions",
    "Stopping",
    "__version__",
    "explain",
    "load",
    "models",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'mase' has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    loaded = import_module(module)
    value = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
