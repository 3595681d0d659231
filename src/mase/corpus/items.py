"""From the rows of an input to the items of a corpus: their ids, texts and kept columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mase.corpus.columns import schema
from mase.corpus.source import Item
from mase.datasets.documents import DocumentColumns, missing_column, string_of
from mase.document import valid_text
from mase.errors import DataError, MaseError, OptionError
from mase.scalars import is_integer

__all__ = ["Columns", "Keep", "Row", "kept_columns"]

# The cells of a row by column, or the error if the row cannot be read.
Row = Mapping[str, Any] | MaseError
# The columns to keep: names, each perhaps with a new one as in "group=cohort", or a mapping from names to new names.
Keep = Iterable[str] | Mapping[str, str]


def kept_columns(keep: Keep | None) -> tuple[tuple[str, str], ...]:
    """Return the columns of the input to keep, each with its name in the run.

    Raises
    ------
    OptionError
        If a column or a name is empty, a name is not valid Unicode, or `keep` is a single string.
    DataError
        If a name is that of a column of every run, or two columns have the same name, be it in other letters.

    Examples
    --------
    >>> kept_columns(["label", "group=cohort"]), kept_columns({"group": "cohort"})
    ((('label', 'label'), ('group', 'cohort')), (('group', 'cohort'),))
    """
    if isinstance(keep, str) or not isinstance(keep, Iterable | None):
        example = keep if isinstance(keep, str) else "label"
        raise OptionError(f"keep is {keep!r:.80}, expected a list of columns, as in [{example!r}]")
    pairs = keep.items() if isinstance(keep, Mapping) else [(one, "") for one in (() if keep is None else keep)]
    for one in (one for pair in pairs for one in pair):
        if not isinstance(one, str):
            raise OptionError(f"keep has a value of type {type(one).__name__}, expected names of columns")
    columns = tuple(_renamed(column) if not name else (column, name) for column, name in pairs)
    for column, name in columns:
        if not column or not name:
            raise OptionError(f"keep has {f'{column}={name}'!r}, expected COLUMN or COLUMN=NAME, as in group=cohort")
        if valid_text(name) != name:
            raise OptionError(f"keep has {name!r}, which is not valid Unicode; give it another name, as in COLUMN=NAME")
    _check_names([name for _, name in columns])
    return columns


def _check_names(names: Sequence[str]) -> None:
    """Check the names of kept columns: beside the others, each must be one of its own in any letters."""
    taken: dict[str, str] = {}
    for name in schema("texts", names).names:
        other = taken.setdefault(name.lower(), name)
        if other != name:
            theirs, ours = (other, name) if other in names else (name, other)
            raise DataError(
                f"the kept column {theirs!r} differs from {ours!r} only in upper and lower case, which databases take "
                f"for one; give it another name, as in COLUMN=their_{theirs}"
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
        """Return whether a row has the values that it must have, or could not be read.

        Raises
        ------
        DataError
            If it lacks a column of them.
        """
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

        Raises
        ------
        DataError
            If the row can be read but has no id.
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
