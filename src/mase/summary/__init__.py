"""What the explanations of a corpus say together: tables of words, of mistakes and of quality, by DuckDB."""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names

if TYPE_CHECKING:
    from mase.summary.summarising import summarise as summarise
    from mase.summary.summary import Summary as Summary

__all__ = ["Summary", "summarise"]

if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {"Summary": "mase.summary.summary", "summarise": "mase.summary.summarising"},
        needs=dict.fromkeys(__all__, (("pyarrow", "corpora"), ("duckdb", "corpora"))),
    )
