"""Parts of an evaluation as plain JSON types."""

import hashlib
from dataclasses import asdict
from math import isnan
from typing import Any

from mase.metrics.evaluator import Judged
from mase.metrics.intervals import Difference, Summary

__all__ = ["finite_number", "summary_values", "text_values"]


def text_values(judged: Judged, n_columns: int) -> dict[str, Any]:
    """Return what was measured on one text; the text itself by its SHA-256."""
    return {
        "sha256": hashlib.sha256(judged.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "target": judged.target,
        "probability": judged.probability,
        "values": {
            name: [None] * n_columns if one is None else list(map(finite_number, one.values.tolist()))
            for name, one in judged.by_method.items()
        },
    }


def summary_values(found: Summary | Difference | None) -> dict[str, Any] | None:
    """Return a mean with its interval as plain JSON types."""
    if found is None:
        return None
    return {name: finite_number(value) if isinstance(value, float) else value for name, value in asdict(found).items()}


def finite_number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return None if isnan(value) else value
