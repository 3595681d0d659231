"""mase: explain which words a text classifier relies on, with standard errors, fit quality and provenance.

>>> import mase
>>> "mase" in mase.METHODS
True
"""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names

if TYPE_CHECKING:
    from mase import models as models
    from mase.attribution import Attribution as Attribution
    from mase.attribution import Attributions as Attributions
    from mase.citing import cite as cite
    from mase.comparison.compare import compare as compare
    from mase.corpus.opened import open_run as open_run
    from mase.corpus.running import run as run
    from mase.doctor.checking import check as check
    from mase.document import Document as Document
    from mase.errors import MaseError as MaseError
    from mase.explainer import Explainer as Explainer
    from mase.explanation import explain as explain
    from mase.io.json import load as load
    from mase.methods import METHODS as METHODS
    from mase.methods import Method as Method
    from mase.metrics.evaluation import evaluate as evaluate
    from mase.progress import Progress as Progress
    from mase.regression.precision import QueryOptions as QueryOptions
    from mase.regression.stopping import Stopping as Stopping
    from mase.summary.summarising import summarise as summarise
    from mase.widget.widget import Widget as Widget

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
            "QueryOptions": "mase.regression.precision",
            "Stopping": "mase.regression.stopping",
            "Widget": "mase.widget.widget",
            "check": "mase.doctor.checking",
            "cite": "mase.citing",
            "compare": "mase.comparison.compare",
            "evaluate": "mase.metrics.evaluation",
            "explain": "mase.explanation",
            "load": "mase.io.json",
            "models": "mase.models",
            "open_run": "mase.corpus.opened",
            "run": "mase.corpus.running",
            "summarise": "mase.summary.summarising",
        },
        needs={name: [("pyarrow", "corpora"), ("duckdb", "corpora")] for name in ("compare", "summarise")}
        | {name: [("pyarrow", "corpora")] for name in ("open_run", "run")}
        | {"Widget": [("anywidget", "notebook")]},
    )
