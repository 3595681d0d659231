"""Attributions in long form: one row per response and unit, for tables and data frames."""

from collections.abc import Iterator, Sequence
from typing import Any

from mase.attribution.document import Unit
from mase.attribution.response import Response

__all__ = ["rows"]


def rows(units: Sequence[Unit], response: Response) -> Iterator[dict[str, Any]]:
    """Yield a row per unit by column name, with a column per effect; `standard_error` is None if there is none."""
    ranks = {position: rank for rank, position in enumerate(response.order, 1)}
    for position, unit in enumerate(units):
        yield {
            "response": response.name,
            "position": position,
            "field": unit.field,
            "start": unit.start,
            "end": unit.end,
            "text": unit.text,
            "score": response.scores[position],
            "standard_error": response.standard_errors[position],
            "rank": ranks[position],
            "against": response.against,
        } | {name: values[position] for name, values in response.effects.items()}
