"""What the explanations of a corpus say together: tables of words, of mistakes and of quality, by DuckDB."""

from mase.lazy import lazy_names

__all__ = ["Summary", "summarise"]

__getattr__ = lazy_names(__name__, {"Summary": "mase.summary.summary", "summarise": "mase.summary.summarising"})


def __dir__() -> list[str]:
    return sorted(__all__)
