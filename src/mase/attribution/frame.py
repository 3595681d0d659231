"""Rows as a pandas data frame."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mase.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame"]


def frame(rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """Return a data frame of rows by column name, such as those of `mase.attribution.rows`.

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
    found = pd.DataFrame.from_records(list(rows))
    return found.astype({"standard_error": float}) if len(found) else found  # NaN for None
