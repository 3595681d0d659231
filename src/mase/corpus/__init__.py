"""Explain a corpus: texts from tables, explained part by part into a folder of Parquet files that survives a crash.

`mase.run` makes such a folder and continues one; `mase.open_run` reads it.
"""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names

if TYPE_CHECKING:
    from mase.corpus.opened import Run as Run
    from mase.corpus.opened import open_run as open_run

__all__ = ["Run", "open_run"]

if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        dict.fromkeys(__all__, "mase.corpus.opened"),
        needs=dict.fromkeys(__all__, (("pyarrow", "corpora"),)),
    )
