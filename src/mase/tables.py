"""The rows of tables of any library, and lists of records, as documents."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mase.document import Input
from mase.errors import InvalidTextError, OptionError
from mase.several import check_texts

__all__ = ["Fields", "check_fields", "documents", "is_split", "listed", "names_in"]

# The columns of a table that make a document; None for inputs that are documents already.
Fields = Sequence[str] | None


def documents(source: Any, fields: Fields = None) -> Iterable[Any]:
    """Return several inputs one by one: those of a list, or the rows of a table or a list of mappings.

    Parameters
    ----------
    source
        A list, a generator or a Series of inputs; or, with `fields`, a table of pandas, polars, pyarrow or datasets, or
        mappings that have more fields.
    fields
        The columns that make the document, in this order.

    Raises
    ------
    InvalidTextError
        If it is a single text, a table without `fields`, or anything else.
    OptionError
        If `fields` are no list of names of columns, each of which the table has once.
    """
    if is_split(source):
        raise InvalidTextError(
            f"texts is a mapping from {', '.join(map(repr, source))} to tables, expected one table; "
            f"pick a split, as in texts[{next(iter(source))!r}]"
        )
    names = names_in(source)
    if fields is None:
        if names is not None:
            raise InvalidTextError(
                f"texts is a table (of type {type(source).__name__}), expected fields=[...], the columns that make the "
                f"document, out of {', '.join(map(str, names)):.300}; or one column of it, as in table['text']"
            )
        return check_texts(listed(source))
    chosen = check_fields(fields)
    if names is None:
        return (_picked(row, chosen) for row in check_texts(source))
    missing = [name for name in chosen if name not in names]
    if missing:
        raise OptionError(
            f"fields names {', '.join(map(repr, missing))}, expected columns of the table: "
            f"{', '.join(map(str, names)):.300}"
        )
    repeated = next((name for name in chosen if names.count(name) > 1), None)
    if repeated is not None:
        raise OptionError(f"fields names {repeated!r}, expected a column that is in the table once; rename the others")
    return _rows(source, chosen)


def check_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the columns that make a document.

    Raises
    ------
    OptionError
        If there is none, one is there twice, or they are something else than a list of names.
    """
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise OptionError(f"fields is {fields!r:.80}, expected a list of columns, as in ['premise', 'hypothesis']")
    names = tuple(fields)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise OptionError(f"fields are {list(names)!r:.200}, expected names of columns, each once")
    return names


def is_split(source: object) -> bool:
    """Return whether it is a mapping from names to tables, such as a `DatasetDict`."""
    return isinstance(source, Mapping) and bool(source) and all(names_in(one) is not None for one in source.values())


def names_in(source: Any) -> Sequence[Any] | None:
    """Return the names of the columns of a table; None if it is no table."""
    if isinstance(source, Mapping) or len(getattr(source, "shape", ())) != 2:
        return None
    # pyarrow and datasets have names of columns; the `columns` of pandas and polars are names.
    names = getattr(source, "column_names", None) or getattr(source, "columns", None)
    return None if names is None else list(names)


def _rows(table: Any, fields: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    columns = [listed(table[name]) for name in fields]
    return (dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True))


def listed(column: Any) -> Any:
    """Return a column, whose values Arrow itself would give in a type of its own, as Python values."""
    to_pylist = getattr(column, "to_pylist", None)
    return column if to_pylist is None or names_in(column) is not None else to_pylist()


def _picked(row: Input, fields: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise InvalidTextError(
            f"text is of type {type(row).__name__}, expected a mapping with {', '.join(fields)} as fields says"
        )
    missing = [name for name in fields if name not in row]
    if missing:
        raise InvalidTextError(
            f"text has the fields {', '.join(map(str, row)):.200}, expected {', '.join(map(repr, missing))}, too"
        )
    return {name: row[name] for name in fields}
