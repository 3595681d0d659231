"""What the explanations of a corpus say together: tables of words, of mistakes and of quality, by DuckDB."""

from mase.lazy import lazy_names

__all__ = ["Summary", "summarise"]

__getattr__, __dir__ = lazy_names(
    __name__,
    __all__,
    {"Summary": "mase.summary.summary", "summarise": "mase.summary.summarising"},
    needs=dict.fromkeys(__all__, (("pyarrow", "corpora"), ("duckdb", "corpora"))),
)
