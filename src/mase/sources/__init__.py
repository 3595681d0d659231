"""The texts of a corpus: from tables, files of lines and folders of them, or from values of Python."""

import os
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mase.defaults import check_integer
from mase.document import Scalar, check_texts, is_split, names_in
from mase.errors import DataError, OptionError
from mase.sources.rows import Columns, DocumentColumns, Fields, Keep, kept_columns, listed, string_of
from mase.sources.tables import ArrowTable, File, Pairs, Records, Table, TableSource, Texts, files_in

__all__ = ["open_source"]
_ID = "id"


def open_source(
    source: Any,
    *,
    text_column: str | None = None,
    fields: Fields = None,
    fixed: Collection[str] = (),
    background: Mapping[str, Scalar] | None = None,
    id_column: str | None = None,
    keep: Keep | None = None,
    reserved: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    limit: int | None = None,
    known: Mapping[str, Any] | None = None,
) -> TableSource:
    """Return the texts of files or of a value, all of which are read once to count and check them.

    A text that is missing or no string, or a row that cannot be read, is an item with an error.

    Parameters
    ----------
    source
        The path of a file or a folder (a str or a `pathlib.Path`), or a list of `pathlib.Path`: tables (.csv, .tsv,
        .jsonl, .ndjson, .parquet, .pq) or files with one text per line, compressed (.gz, .bz2, .xz) or not. Of a folder
        all files directly in it are read, by name. Or texts: a list, a tuple or a Series of str, of pairs or of
        mappings of fields; a mapping from ids to texts; or a table of pandas, polars, pyarrow or datasets. A list of
        mappings is a table if columns of it are named.
    text_column
        Column of the texts in a table; "text" by default.
    fields
        Columns of a table that make documents, in this order, instead of a column of texts.
    fixed, background
        Fields that are never masked, and for each field that is a number or a category the value that replaces it when
        it is masked. The cells of a field whose value here is a number are read as numbers, also in CSV.
    id_column
        Column of the ids, unique strings or integers. The default is the number of the text in the whole input, from 0.
    keep
        Columns of the table to keep beside the texts, as in ``["label", "group=cohort"]``, which renames the second, or
        ``{"group": "cohort"}``.
    reserved
        Names that no kept column may have.
    where
        Read only rows with these values, compared as strings, as in ``{"split": "test"}``; null is the empty string.
    limit
        Read only so many texts.
    known
        What `describe` returned in an earlier run. If it is of the same input, the rows are not counted and checked
        again.

    Raises
    ------
    OptionError
        If an option or the value is invalid. Generators are refused because a run that is continued needs the texts
        again.
    DataError
        If a file cannot be read or has no valid text, ids are missing or not unique, or a column to keep is missing or
        has the name of a column of every run.
    MissingDependencyError
        If pyarrow is not installed.
    """
    if limit is not None:
        check_integer("limit", limit, 1)
    for name, column in {"text_column": text_column, "id_column": id_column}.items():
        if not isinstance(column, Hashable):
            raise OptionError(f"{name} is {column!r:.60}, expected the name of a column")
    document = DocumentColumns.of(text_column, fields, fixed, background)
    kept, wanted = kept_columns(keep, reserved), _wanted(where)
    columns = {
        "text_column": text_column,
        "fields": None if fields is None else list(document.fields),
        "id_column": id_column,
        "keep": ",".join(name for name, _ in kept) or None,
        "where": wanted or None,
    }
    option = next((f"{name}={value!r}" for name, value in columns.items() if value is not None), None)
    tables = _tables(source, has_columns=option is not None)
    plain = next((table for table in tables if not table.has_columns), None)
    if option is not None and plain is not None:
        what = f"a {type(plain.values).__name__}" if isinstance(plain, Texts | Pairs) else plain.place(0)
        raise OptionError(f"got {option}, but {what} has no columns; leave it out, or give a table")
    identifiers = _ID if isinstance(plain, Pairs) else id_column
    return TableSource(tables, Columns(document, identifiers, kept, tuple(wanted.items())), limit, known)


def _tables(source: Any, *, has_columns: bool) -> Sequence[Table]:
    """Return the tables of a source; a list of mappings is one if the user names columns."""
    if isinstance(source, str | os.PathLike):
        return _files([source])
    if (hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns")) or names_in(source) is not None:
        return [ArrowTable(source)]
    if is_split(source):
        first = next(iter(source))
        raise OptionError(
            f"the source is a mapping from {', '.join(map(repr, source)):.200} to tables, expected one table; pick a "
            f"split, as in source[{first!r}]"
        )
    if isinstance(source, Mapping):
        return [Pairs(source)]
    if isinstance(source, Iterator):
        raise OptionError(
            f"the source is a {type(source).__name__}, which can be read only once, but a run that is continued reads "
            "its texts again; pass list(...) of it, or write the texts to a file"
        )
    values = check_texts(listed(source), tuples=True)
    if has_columns and isinstance(values, list | tuple) and values and all(isinstance(v, Mapping) for v in values):
        return [Records(values)]
    if isinstance(values, list | tuple) and any(isinstance(value, os.PathLike) for value in values):
        return _files(values)
    if isinstance(values, list | tuple) and values and all(map(_is_file, values)):
        raise OptionError(
            f"the source is a list of str that are all names of files, {values[0]!r:.80} and so on, expected texts; to "
            "read the files, pass a list of pathlib.Path"
        )
    return [Texts(values)]  # type: ignore[arg-type]


def _is_file(value: Any) -> bool:
    try:
        return isinstance(value, str) and Path(value).is_file()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _wanted(where: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the columns that are compared, each with its value as a string."""
    if not isinstance(where, Mapping | None):
        raise OptionError(
            f"where is {where!r:.80}, expected a mapping from columns to values, as in {{'split': 'test'}}"
        )
    return {column: string_of(value) or "" for column, value in (where or {}).items()}


def _files(paths: Iterable[Any]) -> Sequence[File]:
    files = []
    for given in paths:
        if not isinstance(given, str | os.PathLike):
            raise OptionError(
                f"the source has a value of type {type(given).__name__} beside paths, expected only paths or only texts"
            )
        if str(given) in ("", "-"):
            what = "standard input" if str(given) else "an empty file name"
            raise DataError(
                f"the source is {what}, expected a file or a folder, because a run that is continued reads its input "
                "again; write the texts to a file first"
            )
        path = Path(given)
        files += [File.open(item) for item in (files_in(path) if _is_folder(path) else [path])]
    return files


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # reported when it is opened
        return False
