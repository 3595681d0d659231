"""Parts of an evaluation as plain JSON types."""

import hashlib
from dataclasses import asdict, fields, is_dataclass
from math import isnan
from typing import Any

from mase.methods import Method, describe
from mase.metrics.evaluator import EvaluatedText
from mase.metrics.intervals import Difference, Summary
from mase.metrics.protocol import Metric

__all__ = ["finite_number", "metric_values", "summary_values", "text_values"]


def metric_values(metric: Metric) -> dict[str, Any]:
    """Return the class and the settings of a metric."""
    names: list[str] = [entry.name for entry in fields(metric)] if is_dataclass(metric) else []
    settings = {name: getattr(metric, name) for name in names}
    plain = {name: describe(value) if isinstance(value, Method) else value for name, value in settings.items()}
    return {"name": type(metric).__name__} | plain


def text_values(evaluated: EvaluatedText, n_columns: int) -> dict[str, Any]:
    """Return the values of one text, which is identified by its SHA-256."""
    return {
        "sha256": hashlib.sha256(evaluated.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "target": evaluated.target,
        "probability": evaluated.probability,
        "values": {
            name: [None] * n_columns if result is None else list(map(finite_number, result.values.tolist()))
            for name, result in evaluated.by_method.items()
        },
    }


def summary_values(mean: Summary | Difference | None) -> dict[str, Any] | None:
    """Return a mean with its interval as plain JSON types."""
    if mean is None:
        return None
    return {name: finite_number(value) if isinstance(value, float) else value for name, value in asdict(mean).items()}


def finite_number(value: float) -> float | None:
    """Return a number for JSON: None for NaN, which JSON lacks."""
    return None if isnan(value) else value
