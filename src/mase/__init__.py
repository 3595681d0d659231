"""mase: explain which words a text classifier relies on, with standard errors, fit quality and provenance.

>>> import mase
>>> "mase" in mase.METHODS
True
"""

from typing import TYPE_CHECKING

from mase.registry import lazy_names, warn_deprecated

if TYPE_CHECKING:
    from mase import models as models
    from mase.attribution.attribution import Attribution as Attribution
    from mase.attribution.json import load as load
    from mase.checking import check as check
    from mase.citing import cite as cite
    from mase.document import Document as Document
    from mase.errors import MaseError as MaseError
    from mase.explainer import Explainer as Explainer
    from mase.explainer import explain as explain
    from mase.methods import METHODS as METHODS
    from mase.metrics.evaluation import evaluate as evaluate
    from mase_corpora.differences import compare as compare
    from mase_corpora.read import open_run as open_run
    from mase_corpora.running import run as run
    from mase_corpora.summary import summarise as summarise

__version__ = "0.3.0"

__all__ = [
    "METHODS",
    "Attribution",
    "Document",
    "Explainer",
    "MaseError",
    "__version__",
    "check",
    "cite",
    "evaluate",
    "explain",
    "load",
    "models",
]

# Corpora: the functions of `mase_corpora`, which stay here and are not listed.
_OF_CORPORA = {
    "compare": "mase_corpora.differences",
    "open_run": "mase_corpora.read",
    "run": "mase_corpora.running",
    "summarise": "mase_corpora.summary",
}
# Modules that the documents name, so that none of them needs an import of its own.
_MODULES = (
    "attribution", "designs", "errors", "estimators", "links", "methods", "metrics", "models", "notebook", "options",
    "procedures", "progress", "spaces", "testing", "units",
)  # fmt: skip
# Names that are deprecated, and where they are from now on.
_FORMER = {
    "Attributions": "mase.attribution",
    "Method": "mase.methods",
    "Progress": "mase.progress",
    "QueryOptions": "mase.solve.oracle",
    "Stopping": "mase.options",
    "Widget": "mase.notebook",
}

if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    _named, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Attribution": "mase.attribution",
            "Document": "mase.document",
            "Explainer": "mase.explainer",
            "METHODS": "mase.methods",
            "MaseError": "mase.errors",
            "check": "mase.checking",
            "cite": "mase.citing",
            "evaluate": "mase.metrics.evaluation",
            "explain": "mase.explainer",
            "load": "mase.attribution.json",
        }
        | {name: f"mase.{name}" for name in _MODULES}
        | _OF_CORPORA
        | _FORMER,
        needs={name: [("pyarrow", "corpora"), ("duckdb", "corpora")] for name in ("compare", "summarise")}
        | {name: [("pyarrow", "corpora")] for name in ("open_run", "run")}
        | {name: [("anywidget", "notebook")] for name in ("Widget", "notebook")},
    )

    def __getattr__(name):
        if name in _FORMER:
            is_query = name == "QueryOptions"
            instead = "batch_size and precision of mase.Explainer" if is_query else f"{_FORMER[name]}.{name}"
            warn_deprecated(f"mase.{name}", instead)
        return _named(name)
