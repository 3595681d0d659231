"""Corpora: explain many texts into a folder, go on where a run stopped, and summarise or compare what was found.

`mase.run` makes such a folder and continues one; `mase.open_run` reads it, and `mase.summarise` and `mase.compare` say
what is in it.
"""

from typing import TYPE_CHECKING

from mase.registry import lazy_names

if TYPE_CHECKING:
    from mase_corpora.comparison import Comparison as Comparison
    from mase_corpora.comparison import Thresholds as Thresholds
    from mase_corpora.differences import compare as compare
    from mase_corpora.read import Run as Run
    from mase_corpora.read import open_run as open_run
    from mase_corpora.running import run as run
    from mase_corpora.summary import Summary as Summary
    from mase_corpora.summary import summarise as summarise

__all__ = ["Comparison", "Run", "Summary", "Thresholds", "compare", "open_run", "run", "summarise"]

if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Comparison": "mase_corpora.comparison",
            "Run": "mase_corpora.read",
            "Summary": "mase_corpora.summary",
            "Thresholds": "mase_corpora.comparison",
            "compare": "mase_corpora.differences",
            "open_run": "mase_corpora.read",
            "run": "mase_corpora.running",
            "summarise": "mase_corpora.summary",
        },
        needs={name: [("pyarrow", "corpora")] for name in ("Run", "open_run", "run")}
        | {
            name: [("pyarrow", "corpora"), ("duckdb", "corpora")]
            for name in ("Comparison", "Summary", "Thresholds", "compare", "summarise")
        },
    )
