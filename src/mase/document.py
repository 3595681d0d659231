"""Documents with named fields, and whether an input is one text or several."""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import accumulate
from math import isfinite
from numbers import Integral, Real
from sys import float_info
from typing import Any, Self, TypeGuard

from mase.errors import InvalidTextError, OptionError

_NO_SERIES = (str, bytes, bytearray, memoryview, Mapping, Set)


def check_texts(texts: object, *, tuples: bool = False) -> Iterable[Any]:
    """Return `texts` if it is a list, a generator or a Series; the single texts are not checked (see `Document.of`).

    A tuple or a mapping is one input with several fields. Ambiguous inputs are refused: iterating over a table yields
    the names of its columns, and a set has no order. With `tuples` a tuple counts as several texts, for callers that
    never take a single input.

    Raises
    ------
    InvalidTextError
        If it is a single text or another type.
    """
    if isinstance(texts, str):
        raise InvalidTextError("texts is a single str, expected several texts; use a list, as in [text]")
    if is_series(texts) and (tuples or not isinstance(texts, tuple)):
        return texts
    raise InvalidTextError(
        f"texts is of type {type(texts).__name__}, expected a str, or a list, a generator or a Series of str"
        f"{remedy(texts)}"
    )


def check_no_model(text: object) -> None:
    """Check, before a model is opened, that what stands in the place of a text is no model.

    Raises
    ------
    InvalidTextError
        If it is a function, or has a method `predict`.
    """
    if _is_model(text):
        raise InvalidTextError(f"text is of type {type(text).__name__}, expected a str{remedy(text)}")


def _is_model(value: object) -> bool:
    return callable(value) or callable(getattr(value, "predict", None))


def is_series(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a value has several texts in an order of its own: no table, set or mapping."""
    shape = getattr(value, "shape", None)
    one_column = not isinstance(shape, tuple) or len(shape) == 1
    return one_column and isinstance(value, Iterable) and not isinstance(value, _NO_SERIES)


def remedy(value: object) -> str:
    """Return the remedy for an input that is not a text, for the end of a message."""
    if isinstance(value, bytes | bytearray | memoryview):
        return "; decode it first, as in text.decode()"
    if isinstance(value, list):
        return "; a pair is a tuple, as in (first, second), and several texts are one list"
    if isinstance(value, tuple | Mapping):
        return "; pass several texts as a list"
    if _is_model(value):
        return "; it looks like a model: check the order of the arguments"
    if isinstance(value, Set):
        return "; a set has no order, pass sorted(texts)"
    shape = getattr(value, "shape", None)
    is_table = isinstance(shape, tuple) and len(shape) == 2
    return "; pass one column of the table, as in table['text']" if is_table else ""


# The name of the only field of a plain text, and of the fields of a pair, as transformers names them.
TEXT = "text"
PAIR = (TEXT, "text_pair")
Scalar = int | float | bool | str
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Field:
    """One named field of a document: a text, or a number or a category beside the text.

    Attributes
    ----------
    name
        Name of the field. The field of a plain text is called ``text``.
    text
        The text; of a number or a category, how it is written.
    fixed
        Whether the field is never masked. Its units get no scores.
    value
        The number or category, which is one unit as a whole. None for a text.
    background
        What replaces `value` when it is masked. None for a text.
    """

    name: str
    text: str
    fixed: bool = False
    value: Scalar | None = None
    background: Scalar | None = None

    @property
    def content(self) -> Scalar:
        """The text, number or category."""
        return self.text if self.value is None else self.value


class Pair(dict[str, Any]):
    """A pair of texts as a function gets it: a record with `text` and `text_pair` that unpacks as the two texts."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __getitem__(self, key: Any) -> Any:
        return tuple(self.values())[key] if isinstance(key, int | slice) else super().__getitem__(key)


@dataclass(frozen=True, slots=True)
class Document:
    """Named fields in order.

    The pipeline works on one string, `text`: the texts of the fields, one per line. Spans of tokens and units refer to
    it. `located` returns the span in a field.
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if len(set(names)) < len(names):
            raise InvalidTextError(f"the fields are named {names!r:.200}, expected a name of its own for each")

    @classmethod
    def of(
        cls, content: "Input", *, fixed: Collection[str] = (), background: Mapping[str, Scalar] | None = None
    ) -> Self:
        """Return a text, a pair of texts or a mapping of fields as a document; a document is returned as it is.

        Parameters
        ----------
        content
            A str is the field ``text``. A pair of str is the fields ``text`` and ``text_pair``. A mapping holds texts,
            numbers and categories by name.
        fixed
            Names of fields that are never masked.
        background
            For each number or category, the value that replaces it when it is masked.

        Raises
        ------
        InvalidTextError
            If it is none of these, a text is not valid Unicode, or a number is not finite.
        OptionError
            If `fixed` or `background` names a field that the document does not have.
        """
        background = {} if background is None else background
        if isinstance(content, cls):
            document = content
        else:
            values = _named(content)
            document = cls(tuple(_field(name, value) for name, value in values.items()))
        return document._with(fixed, background)

    def _with(self, fixed: Collection[str], background: Mapping[str, Scalar]) -> Self:
        if not fixed and not background:
            return self
        names = [field.name for field in self.fields]
        for option, chosen in (("fixed", fixed), ("background", background)):
            if isinstance(chosen, str):
                raise OptionError(f"{option} is {chosen!r}, expected a list of names, as in [{chosen!r}]")
            if not set(chosen) <= set(names):
                wrong = ", ".join(sorted(map(repr, set(chosen) - set(names))))
                record = "; a record is a mapping, such as dict(row) of the row of a table" if names == [TEXT] else ""
                raise OptionError(
                    f"{option} names {wrong}, expected fields of the document: {', '.join(names)}{record}"
                )
        return replace(self, fields=tuple(_placed(field, fixed, background) for field in self.fields))

    @property
    def text(self) -> str:
        """The texts of the fields, one per line."""
        return self.fields[0].text if len(self.fields) == 1 else "\n".join(field.text for field in self.fields)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each field begins in `text`."""
        return tuple(accumulate((len(field.text) + 1 for field in self.fields[:-1]), initial=0))

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain text."""
        return len(self.fields) == 1 and self.fields[0].name == TEXT and self.fields[0].value is None

    @property
    def content(self) -> str | dict[str, Scalar]:
        """What a function gets: the str of a plain text, otherwise a new dict of the fields by name."""
        return self.text if self.is_plain else self.record([field.content for field in self.fields])

    def record(self, contents: Sequence[Scalar]) -> dict[str, Scalar]:
        """Return a new dict of the contents of the fields by name; that of a pair of texts unpacks as these."""
        names = tuple(field.name for field in self.fields)
        return (Pair if names == PAIR else dict)(zip(names, contents, strict=True))

    @property
    def key(self) -> str:
        """The string that seeds the random numbers of the document: the text itself for a plain text."""
        if self.is_plain:
            return self.text
        return json.dumps([[field.name, field.content] for field in self.fields], ensure_ascii=False)

    def located(self, start: int, end: int) -> tuple[Field, int, int]:
        """Return the field that holds a span of `text`, and the span in the text of that field."""
        starts = self.starts
        index = bisect_right(starts, start) - 1
        return self.fields[index], start - starts[index], end - starts[index]

    def only_text(self, owner: str) -> str:
        """Return the text of the only field, for the model `owner` that takes nothing else.

        Raises
        ------
        InvalidTextError
            If there are several fields, or the only one is a number or a category.
        """
        if len(self.fields) == 1 and self.fields[0].value is None:
            return self.text
        names = ", ".join(field.name for field in self.fields)
        raise InvalidTextError(
            f"text has the fields {names}, expected one text for {owner}; join them to one str, or explain a function "
            "of records (mase.models.Callable)"
        )

    def check_masks(self) -> None:
        """Check that every number and category can be masked or is fixed.

        Raises
        ------
        InvalidTextError
            If one has no background value.
        """
        for field in self.fields:
            if field.value is not None and field.background is None and not field.fixed:
                raise InvalidTextError(
                    f"field {field.name!r} is {field.value!r:.60}, expected a text, or a value that replaces it when "
                    f"it is masked; pass background={{{field.name!r}: ...}} or fixed=[{field.name!r}]"
                )


Input = str | tuple[str, str] | Mapping[str, Scalar] | Document


def _named(content: object) -> Mapping[str, Any]:
    """Return the fields of an input by name."""
    if isinstance(content, tuple):
        if len(content) != len(PAIR):
            raise InvalidTextError(
                f"text is a tuple of {len(content)} values, expected a pair of str; pass several texts as a list, "
                "and a record as a mapping"
            )
        return dict(zip(PAIR, map(check_text, content), strict=True))
    if not isinstance(content, Mapping):
        return {TEXT: check_text(content)}
    if not content:
        raise InvalidTextError("text is a mapping without fields, expected at least one, as in {'text': '...'}")
    for name in content:
        if not isinstance(name, str) or not name:
            raise InvalidTextError(f"text has a field named {name!r:.60}, expected a str of at least one character")
        check_text(name)
    return content


def _field(name: str, value: Any) -> Field:
    """Return the field of a text or a number."""
    if isinstance(value, str):
        return Field(name, check_text(value))
    number = scalar(value)
    if number is None:
        # Python refuses to write an integer of many digits.
        got = "an integer of too many digits" if isinstance(value, Integral) else f"{value!r:.60}"
        kind = type(value).__name__
        is_missing = kind in ("NoneType", "NAType", "NaTType") or got.endswith("nan")
        remedy = "fill in what is missing" if is_missing else "write it as a text or a number"
        raise InvalidTextError(f"field {name!r} is {got} (of type {kind}), expected a str or a finite number; {remedy}")
    return Field(name, str(number), value=number)


def scalar(value: Any) -> Scalar | None:
    """Return a str, or a finite number of any kind, such as one of NumPy, as one of Python; None for anything else."""
    if isinstance(value, str):
        return str.__str__(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value) if abs(int(value)) <= float_info.max else None
    if isinstance(value, Decimal) and not value.is_finite():  # of which some raise an error in `isfinite`
        return None
    return float(value) if isinstance(value, Real | Decimal) and isfinite(value) else None


def _placed(field: Field, fixed: Collection[str], background: Mapping[str, Scalar]) -> Field:
    """Return the field with the options that name it."""
    if field.name in background:
        given = scalar(background[field.name])
        if given is None or isinstance(given, str) != isinstance(field.content, str):
            kind, got = "a str" if isinstance(field.content, str) else "a finite number", background[field.name]
            raise OptionError(f"background of {field.name!r} is {got!r:.60}, expected {kind}, as in the document")
        field = replace(field, value=field.content, background=given)
    return replace(field, fixed=True) if field.name in fixed else field


def is_single(content: "Input | Iterable[Input]") -> "TypeGuard[Input]":
    """Return whether an input is one document; otherwise it is several, or invalid."""
    return isinstance(content, str | tuple | Mapping | Document)


_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def check_text(text: object) -> str:
    """Return `text` if it is valid Unicode; a subclass such as `numpy.str_` is converted to `str`.

    Raises
    ------
    InvalidTextError
        If it is not a string, or contains a lone surrogate, which tokenizers and files do not support.
    """
    if not isinstance(text, str):
        raise InvalidTextError(f"text is of type {type(text).__name__}, expected str{remedy(text)}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        pair = _SURROGATES.match(text, error.start) is not None
        which, remedy_of_it = (
            ("surrogate pair with", "join it with text.encode('utf-16', 'surrogatepass').decode('utf-16')")
            if pair
            else ("lone surrogate", "replace it, for example with text.encode('utf-8', 'replace').decode()")
        )
        raise InvalidTextError(
            f"text has the {which} U+{ord(text[error.start]):04X} at position {error.start}, expected valid Unicode; "
            f"{remedy_of_it}"
        ) from None
    return str.__str__(text)


def valid_text(text: str) -> str:
    """Return a text that UTF-8 can encode: U+FFFD stands for lone surrogates.

    Examples
    --------
    >>> valid_text("caf\\udce9.csv")
    'caf�.csv'
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def is_split(source: object) -> bool:
    """Return whether it is a mapping from names to tables, such as a `DatasetDict`."""
    return isinstance(source, Mapping) and bool(source) and all(names_in(item) is not None for item in source.values())


def names_in(source: Any) -> Sequence[Any] | None:
    """Return the names of the columns of a table; None if it is no table."""
    if isinstance(source, Mapping) or len(getattr(source, "shape", ())) != 2:
        return None
    # pyarrow and datasets have names of columns; the `columns` of pandas and polars are names.
    names = getattr(source, "column_names", None) or getattr(source, "columns", None)
    return None if names is None else list(names)
