"""From the cells of a row to what is explained: the text of one column, or a document of several."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Self

from mase.document import TEXT, Document, Scalar
from mase.errors import DataError, InvalidTextError, MaseError, OptionError
from mase.tables import Fields, check_fields

__all__ = ["DocumentColumns", "missing_column", "scalar_of", "string_of", "text_of"]

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
        """Return the columns from what a user gives.

        Raises
        ------
        OptionError
            If both a column of texts and fields are given, or the fields are no names.
        """
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
        return scalar_of(typed.strip().lower() if self._is_flag(name) else typed)


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
    if isinstance(value, str | bool) or (isinstance(value, int | float) and isfinite(value)):
        return value
    return typed


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
