"""Explain a corpus: texts from tables, explained part by part into a folder of Parquet files that survives a crash.

`mase.run` makes such a folder and continues one; `mase.open_run` reads it.
"""

from mase.lazy import lazy_names

__all__ = ["Run", "open_run"]

__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, "mase.corpus.opened"))


def __dir__() -> list[str]:
    return sorted(__all__)
