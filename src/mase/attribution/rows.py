"""Attributions in long form: one row per response and unit, for tables and data frames."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mase.attribution.attribution import Attribution

__all__ = ["COLUMNS", "TEXT_COLUMNS", "cited_units", "rows", "text_row"]

# The columns of every row; effects and answers add others.
COLUMNS = (
    "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank", "against",
    "total_error", "strength",
)  # fmt: skip
# The columns of a row per text.
TEXT_COLUMNS = (
    "document", "text", "label", "probability", "target", "reliable", "verdict", "flip_set", "flip_label"
)  # fmt: skip


def rows(attribution: "Attribution") -> Iterator[dict[str, Any]]:
    """Yield a row per response and unit by column name, with a column per effect, and of an answer whether it is cited.

    The errors are None if there are none. `cited` is None for a response that is no part of the answer.
    """
    answer, sources = attribution.answer, cited_units(attribution)
    for response in attribution.responses:
        ranks = {position: rank for rank, position in enumerate(response.order, 1)}
        strengths = {position: rank for rank, position in enumerate(response.best(len(ranks), "magnitude"), 1)}
        cited = sources.get(response.name)
        for position, unit in enumerate(attribution.units):
            place = (position, unit.field, unit.start, unit.end, unit.text)
            score = (response.scores[position], response.standard_errors[position], ranks[position])
            further = (response.against, response.interval_errors[position], strengths[position])
            row = dict(zip(COLUMNS, (response.name, *place, *score, *further), strict=True))
            row |= {name: values[position] for name, values in response.effects.items()}
            yield row if answer is None else row | {"cited": None if cited is None else position in cited}


def text_row(index: int, attribution: "Attribution") -> dict[str, Any]:
    """Return the row of a text: what the model predicts, whether the scores are reliable, and what flips it."""
    told, verdict = attribution.prediction, attribution.verdict
    flip = None if attribution.evidence is None else attribution.evidence.flip_set
    units = None if flip is None else tuple(attribution.units[unit].text for unit in flip.units)
    values = (told.label, told.probability, attribution.title, verdict.reliable, str(verdict), units)
    text = " ".join(field.text for field in attribution.document)
    return dict(zip(TEXT_COLUMNS, (index, text, *values, None if flip is None else flip.label), strict=True))


def cited_units(attribution: "Attribution") -> dict[str, set[int]]:
    """Return the units that are the sources of each part of an answer, by the name of its response."""
    parts = () if attribution.answer is None else attribution.answer.parts
    return {
        part.response: {citation.unit for citation in citations}
        for part, citations in zip(parts, attribution.citations, strict=True)
    }
