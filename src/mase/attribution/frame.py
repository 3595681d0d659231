"""Rows as a pandas data frame."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mase.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame"]


def frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> "pd.DataFrame":
    """Return a data frame of rows by column name, such as those of `mase.attribution.rows`.

    Without rows it has these `columns`.

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
    records = list(rows)
    found = pd.DataFrame.from_records(records) if records else pd.DataFrame(columns=columns)
    floats = [name for name in ("standard_error", "total_error", "probability") if name in found]
    return found.astype(dict.fromkeys(floats, float))  # NaN for None
