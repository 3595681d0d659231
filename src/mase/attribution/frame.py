"""Attributions as a pandas data frame in long form."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mase.attribution.document import Unit
from mase.attribution.response import Response
from mase.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame"]


def frame(units: Sequence[Unit], responses: Sequence[Response]) -> "pd.DataFrame":
    """Return a data frame with one row per response and unit; `Attribution.to_frame` lists its columns.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            f"pandas cannot be imported ({error}); run: pip install 'mase-xai[data]'"
        ) from error
    return pd.DataFrame.from_records([row for response in responses for row in _rows(units, response)])


def _rows(units: Sequence[Unit], response: Response) -> Iterator[dict[str, Any]]:
    ranks = {index: rank for rank, index in enumerate(response.order, 1)}
    for position, unit in enumerate(units):
        error = response.standard_errors[position]
        yield {
            "response": response.name,
            "position": position,
            "field": unit.field,
            "start": unit.start,
            "end": unit.end,
            "text": unit.text,
            "score": response.scores[position],
            "standard_error": float("nan") if error is None else error,
            "rank": ranks[position],
        } | {name: values[position] for name, values in response.effects.items()}
