"""Explain a corpus: texts from tables, explained part by part into a folder of Parquet files that survives a crash.

`mase.run` makes such a folder and continues one; `mase.open_run` reads it.
"""

from mase.lazy import lazy_names

__all__ = ["Run", "open_run"]

__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    dict.fromkeys(__all__, "mase.corpus.opened"),
    needs=dict.fromkeys(__all__, (("pyarrow", "corpora"),)),
)
