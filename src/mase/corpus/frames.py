"""Arrow tables as data frames of pandas."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mase.lazy import require
from mase.registry import unknown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["frame"]


def frame(tables: Mapping[str, "pa.Table"], name: str) -> "pd.DataFrame":
    """Return one of some tables as a data frame.

    Raises
    ------
    UnknownNameError
        If there is no such table.
    MissingDependencyError
        If pandas is not installed.
    """
    if name not in tables:
        raise unknown("table", name, list(tables))
    require("pandas", "data")
    return tables[name].to_pandas()
