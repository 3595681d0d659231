"""Data sets as Parquet tables. Only this module imports pyarrow for data sets."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mase.datasets.dataset import Row, Split
from mase.errors import DataError, MissingDependencyError, OptionError
from mase.files import replacing, writing

__all__ = ["read_split", "require_pyarrow", "write_rows"]

_COLUMNS = ["split", "id", "label", "text"]


def read_split(path: Path, name: str, split: str) -> Split:
    """Return the rows of one split of the table at `path`, in the file's order.

    Raises
    ------
    DataError
        If the file is not a Parquet table with columns split, id, label and text.
    OptionError
        If it has no row of that split.
    MissingDependencyError
        If pyarrow is not installed.
    """
    pa, parquet = require_pyarrow()
    again = f"mase.datasets.get({name!r}), on the command line mase data get {name}"
    try:
        table = parquet.read_table(path, columns=_COLUMNS)
        columns = {column: table.column(column).to_pylist() for column in _COLUMNS}
    except (pa.ArrowException, LookupError, OSError, ValueError, OverflowError) as error:
        raise DataError(
            f"{path} could not be read ({error}), expected a Parquet table with columns {', '.join(_COLUMNS)}; "
            f"remove it and download it again with {again}"
        ) from error
    invalid = next(
        (name for name in ("split", "label", "text") if not all(isinstance(v, str) for v in columns[name])), None
    )
    if invalid is not None:
        raise DataError(
            f"{path} has a {invalid} that is not a string, expected the official table; remove it and download it "
            f"again with {again}"
        )
    rows = [index for index, value in enumerate(columns["split"]) if value == split]
    if not rows:
        known = set(columns["split"])
        known |= {"validation"} if "train" in known else set()
        raise OptionError(f"data set {name!r} has no split {split!r}, expected one of: {', '.join(sorted(known))}")
    labels, ids = columns["label"], columns["id"]
    return Split(
        name=name,
        split=split,
        texts=tuple(columns["text"][index] for index in rows),
        labels=tuple(labels[index] for index in rows),
        ids=tuple(f"{labels[index]}/{ids[index]}" for index in rows),
        sha256=_sha256(path),
    )


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a Parquet table (zstd), atomically.

    Raises
    ------
    DataError
        If it cannot be written.
    MissingDependencyError
        If pyarrow is not installed.
    """
    pa, parquet = require_pyarrow()
    table = pa.Table.from_pylist(list(rows))
    with writing(path), replacing(path) as draft:
        parquet.write_table(table, draft, compression="zstd")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_pyarrow() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet.

    Raises
    ------
    MissingDependencyError
        If pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError("pyarrow is not installed; run: pip install 'mase-xai[data]'") from error
    return pyarrow, pyarrow.parquet
