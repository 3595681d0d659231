"""Attributions as a pandas data frame in long form."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mase.attribution.document import Unit
from mase.attribution.response import Response
from mase.attribution.rows import rows
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
    found = pd.DataFrame.from_records([row for response in responses for row in rows(units, response)])
    return found.astype({"standard_error": float})  # NaN for None
