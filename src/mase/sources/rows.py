"""From a row of a table to a document, its id and the columns that are kept."""

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import msgspec
import numpy as np

from mase.defaults import is_integer
from mase.document import TEXT, Document, Input, Scalar, check_texts, is_split, names_in, scalar, valid_text
from mase.errors import DataError, InvalidTextError, MaseError, OptionError

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
    """Return the names of the columns that make a document."""
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise OptionError(f"fields is {fields!r:.80}, expected a list of columns, as in ['premise', 'hypothesis']")
    names = tuple(fields)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise OptionError(f"fields are {list(names)!r:.200}, expected names of columns, each once")
    return names


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


_MOST_NAMES = 60  # columns that a message lists


@dataclass(frozen=True, slots=True)
class DocumentColumns:
    """The columns of a table that are explained.

    Attributes
    ----------
    text
        The column of plain texts, if there are no fields.
    fields
        The columns that make a document, in this order; none for plain texts.
    fixed, background
        Fields that are never masked, and what replaces those that are numbers and categories, as of `mase.Explainer`.
    """

    text: str = TEXT
    fields: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    background: Mapping[str, Scalar] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        text_column: str | None = None,
        fields: Fields = None,
        fixed: Collection[str] = (),
        background: Mapping[str, Scalar] | None = None,
    ) -> Self:
        """Return the columns from what a user gives."""
        if fields is not None and text_column is not None:
            raise OptionError("text_column and fields are both given, expected one of the two")
        text = TEXT if text_column is None else text_column
        return cls(text, () if fields is None else check_fields(fields), tuple(fixed), dict(background or {}))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The fields whose background value is a number: they are numbers even in a table without types (CSV)."""
        return tuple(name for name in self.fields if isinstance(self.background.get(name, ""), int | float))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all these columns."""
        return self.fields or (self.text,)

    def read(self, row: Mapping[str, Any]) -> str | Document | MaseError:
        """Return the text or the document of a row, or the error if the row has none."""
        try:
            content = self._document(row) if self.fields else text_of(row, self.text)
            if isinstance(content, Document):
                return Document.of(content, fixed=self.fixed, background=self.background)
        except MaseError as error:
            return error
        return content

    def _document(self, row: Mapping[str, Any]) -> Document | DataError:
        missing = next((name for name in self.fields if name not in row), None)
        if missing is not None:
            return missing_column(missing, row, "; name the columns of the document with fields=[...]")
        return Document.of({name: self._cell(name, row[name]) for name in self.fields})

    def _cell(self, name: str, value: Any) -> Any:
        """Return a cell, which is a number if its background value is one, and no number if that is a string."""
        if name not in self.background or value is None:
            return value
        is_number = name in self.numbers
        value = self._parsed(name, value) if is_number and isinstance(value, str) else value
        if is_number == isinstance(value, str):
            got = repr(value[:60]) if isinstance(value, str) else f"of type {type(value).__name__}"
            kind = "true or false" if self._is_flag(name) else "a number" if is_number else "a string"
            raise InvalidTextError(f"field {name!r} is {got}, expected {kind}, as its background value is")
        return value

    def _is_flag(self, name: str) -> bool:
        return isinstance(self.background.get(name), bool)

    def _parsed(self, name: str, typed: str) -> Scalar:
        """Return what a cell without a type says; true and false in any case, as tables are written, for a flag."""
        if self._is_flag(name):
            return scalar_of(typed.strip().lower())
        value = scalar_of(typed)
        if not isinstance(value, str):
            return value
        with suppress(ValueError):  # such as .5, +3 and 007, which are no numbers in JSON
            value = float(typed) if set(typed) & set(".eE") else int(typed)
        return typed if scalar(value) is None else value


def scalar_of(typed: str) -> Scalar:
    """Return what a string says: a number, true or false, or a quoted string, as JSON writes them; or the string.

    Examples
    --------
    >>> scalar_of("40"), scalar_of("true"), scalar_of("FR"), scalar_of('"40"')
    (40, True, 'FR', '40')
    """
    try:
        value = json.loads(typed)
    except (ValueError, RecursionError):
        return typed
    return value if isinstance(value, str | int | float) and scalar(value) is not None else typed


def string_of(value: Any) -> str | None:
    """Return a cell as a string, as labels, kept columns and conditions have it; None for a null.

    A truth value is ``True`` or ``False``, as the classes of estimators and tables of pandas have it. A list or an
    object is JSON.

    Examples
    --------
    >>> string_of("FR"), string_of(40), string_of(True), string_of(None), string_of({"à": [1, True]})
    ('FR', '40', 'True', None, '{"à": [1, true]}')
    """
    if value is None:
        return None
    if isinstance(value, Mapping | list | tuple):
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            pass  # as Python writes what is no JSON
    return str(value)


def text_of(row: Mapping[str, Any], column: str) -> str | Document | MaseError:
    """Return the text of a row, or the error if there is none; a document or an error in its place, as it is.

    Examples
    --------
    >>> text_of({"text": "A dull film."}, "text"), text_of({"text": 5}, "text")
    ('A dull film.', DataError("'text' is of type int, expected a string"))
    """
    if column not in row:
        return missing_column(column, row, "; name the column of the texts with text_column")
    text = row[column]
    if not isinstance(text, str | Document | MaseError):
        return DataError(f"{column!r} is of type {type(text).__name__}, expected a string")
    return text


def missing_column(column: str, row: Mapping[str, Any], remedy: str = "") -> DataError:
    """Return the error for a row without a column."""
    names = [repr(name) for name, _ in zip(row, range(_MOST_NAMES + 1), strict=False)]
    known = ", ".join(names if len(names) <= _MOST_NAMES else [*names[:-1], "..."])
    return DataError(f"no column {column!r}, expected one of: {known}{remedy}")


class Ids:
    """Ids, of which only the hashes are remembered."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, name: str) -> None:
        """Take the next id."""
        self._hashes.append(hash(name))

    def repeated(self, names: Iterable[str]) -> tuple[int, int] | None:
        """Return the positions of the first repeated id and of the first one that repeats it; None if all differ.

        Call it once, after the last id.

        Parameters
        ----------
        names
            All ids again, in order. They are read only if two hashes are equal.
        """
        hashes = np.frombuffer(self._hashes, dtype=np.int64)
        hashes.sort()
        candidates = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        first: dict[str, int] = {}
        for position, name in enumerate(names if candidates else ()):
            if hash(name) in candidates and first.setdefault(name, position) != position:
                return first[name], position
        return None


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a corpus.

    Attributes
    ----------
    row
        Its number in the whole input, from 0.
    id
        Its name, unique in the input.
    text
        The text, or a document that is no plain text; None if it is missing or could not be read.
    kept
        Values of the columns that are kept, in the order of `Source.kept`.
    error
        Why the text cannot be explained, if that is known from the input alone.
    """

    row: int
    id: str
    text: str | Document | None
    kept: tuple[str | None, ...] = ()
    error: MaseError | None = None


class Source(Protocol):
    """A repeatable sequence of texts. It may be read several times, and gives the same items each time."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the columns that are kept beside the texts."""
        ...

    def __len__(self) -> int:
        """Return the number of texts."""
        ...

    def items(self, start: int = 0) -> Iterator[Item]:
        """Yield the items in order, from row `start` on."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return plain JSON types that identify the input: names, checksums and columns.

        Two sources with the same description have the same items.
        """
        ...


# The cells of a row by column, or the error if the row cannot be read.
Row = Mapping[str, Any] | MaseError

# The columns to keep: names, each perhaps with a new one as in "group=cohort", or a mapping from names to new names.
Keep = Iterable[str] | Mapping[str, str]


def kept_columns(keep: Keep | None, reserved: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return the columns of the input to keep, each with its name in the run, which has `reserved` columns as well.

    Examples
    --------
    >>> kept_columns(["label", "group=cohort"]), kept_columns({"group": "cohort"})
    ((('label', 'label'), ('group', 'cohort')), (('group', 'cohort'),))
    """
    if isinstance(keep, str) or not isinstance(keep, Iterable | None):
        example = keep if isinstance(keep, str) else "label"
        raise OptionError(f"keep is {keep!r:.80}, expected a list of columns, as in [{example!r}]")
    pairs = keep.items() if isinstance(keep, Mapping) else [(item, "") for item in (() if keep is None else keep)]
    for item in (item for pair in pairs for item in pair):
        if not isinstance(item, str):
            raise OptionError(f"keep has a value of type {type(item).__name__}, expected names of columns")
    columns = tuple(_renamed(column) if not name else (column, name) for column, name in pairs)
    for column, name in columns:
        if not column or not name:
            raise OptionError(f"keep has {f'{column}={name}'!r}, expected COLUMN or COLUMN=NAME, as in group=cohort")
        if valid_text(name) != name:
            raise OptionError(f"keep has {name!r}, which is not valid Unicode; give it another name, as in COLUMN=NAME")
    check_kept([name for _, name in columns], reserved)
    return columns


def check_kept(names: Sequence[str], reserved: Sequence[str], *, any_case: bool = True) -> None:
    """Check that the names of kept columns differ from each other and from `reserved`, in any letters."""
    taken = {name.lower(): name for name in reserved}
    for name in names:
        if name in reserved:
            raise DataError(
                f"the kept column {name!r} has a name that is taken, expected another one than {', '.join(reserved)}; "
                f"give it one, as in COLUMN=their_{name}"
            )
        if names.count(name) > 1:
            raise DataError(f"two kept columns are called {name!r}, expected a name for each; drop or rename one")
        other = taken.setdefault(name.lower(), name)
        if any_case and other != name:
            raise DataError(
                f"the kept column {name!r} differs from {other!r} only in upper and lower case, which databases take "
                f"for one; give it another name, as in COLUMN=their_{name}"
            )


def _renamed(typed: str) -> tuple[str, str]:
    column, sign, name = typed.partition("=")
    return column, name if sign else column


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the input that a run reads.

    Attributes
    ----------
    document
        The columns that are explained.
    id
        The column of the ids; None to number the texts.
    keep
        The columns to keep, each with its name in the run.
    where
        Columns with the value that they must have, as a string (see `string_of`); the empty string for null.
    """

    document: DocumentColumns
    id: str | None = None
    keep: tuple[tuple[str, str], ...] = ()
    where: tuple[tuple[str, str], ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the columns in the input, each once."""
        names = (*self.document.names, *(() if self.id is None else (self.id,)), *(column for column, _ in self.keep))
        names += tuple(column for column, _ in self.where)
        return tuple(dict.fromkeys(names))

    def wants(self, row: Row) -> bool:
        """Return whether a row has the values that it must have, or could not be read."""
        if isinstance(row, MaseError):
            return True
        absent = next((column for column, _ in self.where if column not in row), None)
        if absent is not None:
            raise missing_column(absent, row, "; correct the columns in where={...}")
        return all((string_of(row[column]) or "") == value for column, value in self.where)

    def item(self, number: int, row: Row) -> Item:
        """Return the text number `number` of the corpus. If a row has none or could not be read, the item says why.

        Without a column of ids, the id is this number, from 0. With one, a row that could not be read, so that its id
        is unknown, gets the id ``text N``, where N counts the texts from 1 as messages do.
        """
        if isinstance(row, MaseError):
            unknown = str(number) if self.id is None else f"text {number + 1}"
            return Item(number, unknown, None, (None,) * len(self.keep), row)
        name = str(number) if self.id is None else _id(row, self.id)
        kept = tuple(string_of(row.get(column)) for column, _ in self.keep)
        text = self.document.read(row)
        if isinstance(text, MaseError):
            return Item(number, name, None, kept, text)
        return Item(number, name, str(text) if isinstance(text, str) else text, kept)


def _id(row: Mapping[str, Any], column: str) -> str:
    if column not in row:
        raise missing_column(column, row, "; name the column of the ids with id_column")
    value = row[column]
    if not isinstance(value, str) and not is_integer(value):
        raise DataError(f"the id in column {column!r} is {value!r:.80}, expected a string or an integer in every row")
    name = str(value)
    if not name:
        raise DataError(f"the id in column {column!r} is empty, expected a string or an integer in every row")
    if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
        raise DataError(f"the id {name!r:.80} in column {column!r} is not valid Unicode; correct it")
    return name


class _Field(msgspec.Struct):
    name: str
    text: str


def fields_of(document: str | None, row: int) -> list[tuple[str, str]]:
    """Return the names and texts of the fields of a document; none if the run holds no texts."""
    try:
        fields = [] if document is None else msgspec.json.decode(document, type=list[_Field])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DataError(
            f"the document of row {row} is not a list of fields as in docs/run.md: {error!s:.300}"
        ) from error
    return [(field.name, field.text) for field in fields]
