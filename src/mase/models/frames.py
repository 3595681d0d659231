"""Functions of data frames, called with records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mase.document import TEXT
from mase.errors import InvalidTextError
from mase.lazy import require

__all__ = ["OfFrames", "columns_of"]


@dataclass(frozen=True, slots=True)
class OfFrames:
    """A function of records that calls a function of data frames, such as one of an estimator fitted on data frames.

    Parameters
    ----------
    function
        The function. It gets a pandas data frame with one row per record; numbers stay numbers.
    columns
        The columns of the data frame, in order. Other fields of a record are left out.
    """

    function: Callable[[Any], Any]
    columns: tuple[str, ...]

    @property
    def __self__(self) -> Any:
        """The object to which the function belongs."""
        return getattr(self.function, "__self__", self.function)

    def __call__(self, records: Sequence[Mapping[str, Any] | str]) -> Any:
        """Return what the function returns for n records.

        Raises
        ------
        InvalidTextError
            If one is not a record, or lacks a column.
        MissingDependencyError
            If pandas is not installed.
        """
        if self.columns == (TEXT,):  # what a mapping with this field alone is for every model
            records = [{TEXT: record} if isinstance(record, str) else record for record in records]
        for record in records:
            missing = [name for name in self.columns if isinstance(record, str) or name not in record]
            if missing:
                got = f"the str {record!r:.40}" if isinstance(record, str) else f"the fields {', '.join(record):.200}"
                raise InvalidTextError(
                    f"text has {got}, expected a mapping with {', '.join(self.columns):.400}, the columns of the data "
                    f"frame on which the model was fitted; add {', '.join(missing):.200}"
                )
        require("pandas", "data")
        import pandas as pd

        return self.function(pd.DataFrame.from_records(list(records), columns=list(self.columns)))


def columns_of(estimator: object) -> tuple[str, ...] | None:
    """Return the columns of the data frame on which an estimator of scikit-learn was fitted, None if on anything else.

    A pipeline that begins with a `ColumnTransformer` was fitted on a data frame.
    """
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))
