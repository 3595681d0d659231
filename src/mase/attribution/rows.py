"""Attributions in long form: one row per response and unit, for tables and data frames."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mase.attribution.attribution import Attribution

__all__ = ["COLUMNS", "cited_units", "rows"]

# The columns of every row; effects and answers add others.
COLUMNS = (
    "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank", "against",
    "total_error",
)  # fmt: skip


def rows(attribution: "Attribution") -> Iterator[dict[str, Any]]:
    """Yield a row per response and unit by column name, with a column per effect, and of an answer whether it is cited.

    The errors are None if there are none. `cited` is None for a response that is no part of the answer.
    """
    answer, sources = attribution.answer, cited_units(attribution)
    for response in attribution.responses:
        ranks = {position: rank for rank, position in enumerate(response.order, 1)}
        cited = sources.get(response.name)
        for position, unit in enumerate(attribution.units):
            place = (position, unit.field, unit.start, unit.end, unit.text)
            score = (response.scores[position], response.standard_errors[position], ranks[position])
            error = response.interval_errors[position]
            row = dict(zip(COLUMNS, (response.name, *place, *score, response.against, error), strict=True))
            row |= {name: values[position] for name, values in response.effects.items()}
            yield row if answer is None else row | {"cited": None if cited is None else position in cited}


def cited_units(attribution: "Attribution") -> dict[str, set[int]]:
    """Return the units that are the sources of each part of an answer, by the name of its response."""
    parts = () if attribution.answer is None else attribution.answer.parts
    return {
        part.response: {citation.unit for citation in citations}
        for part, citations in zip(parts, attribution.citations, strict=True)
    }
