"""mase: explain which words a text classifier relies on, with standard errors, fit quality and provenance.

>>> import mase
>>> "mase" in mase.METHODS
True
"""

from typing import TYPE_CHECKING

from mase.registry import lazy_names

if TYPE_CHECKING:
    from mase import models as models
    from mase.attribution.attribution import Attribution as Attribution
    from mase.attribution.attribution import Attributions as Attributions
    from mase.attribution.json import load as load
    from mase.checking import check as check
    from mase.citing import cite as cite
    from mase.document import Document as Document
    from mase.errors import MaseError as MaseError
    from mase.explainer import Explainer as Explainer
    from mase.explainer import explain as explain
    from mase.methods import METHODS as METHODS
    from mase.methods import Method as Method
    from mase.metrics.evaluation import evaluate as evaluate
    from mase.notebook import Widget as Widget
    from mase.progress import Progress as Progress
    from mase.solve.oracle import QueryOptions as QueryOptions
    from mase.solve.strategy import Stopping as Stopping
    from mase_corpora.differences import compare as compare
    from mase_corpora.read import open_run as open_run
    from mase_corpora.running import run as run
    from mase_corpora.summary import summarise as summarise

__version__ = "0.3.0.dev0"

__all__ = [
    "METHODS",
    "Attribution",
    "Attributions",
    "Document",
    "Explainer",
    "MaseError",
    "Method",
    "Progress",
    "QueryOptions",
    "Stopping",
    "Widget",
    "__version__",
    "check",
    "cite",
    "compare",
    "evaluate",
    "explain",
    "load",
    "models",
    "open_run",
    "run",
    "summarise",
]


if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Attribution": "mase.attribution",
            "Attributions": "mase.attribution",
            "Document": "mase.document",
            "Explainer": "mase.explainer",
            "METHODS": "mase.methods",
            "MaseError": "mase.errors",
            "Method": "mase.methods",
            "Progress": "mase.progress",
            "QueryOptions": "mase.solve.oracle",
            "Stopping": "mase.solve.strategy",
            "Widget": "mase.notebook",
            "check": "mase.checking",
            "cite": "mase.citing",
            "compare": "mase_corpora.differences",
            "evaluate": "mase.metrics.evaluation",
            "explain": "mase.explainer",
            "load": "mase.attribution.json",
            "models": "mase.models",
            "open_run": "mase_corpora.read",
            "run": "mase_corpora.running",
            "summarise": "mase_corpora.summary",
        },
        needs={name: [("pyarrow", "corpora"), ("duckdb", "corpora")] for name in ("compare", "summarise")}
        | {name: [("pyarrow", "corpora")] for name in ("open_run", "run")}
        | {"Widget": [("anywidget", "notebook")]},
    )
