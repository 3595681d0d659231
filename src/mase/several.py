"""Whether an input is several texts, and what to do with one that is not."""

from collections.abc import Iterable, Mapping, Set
from typing import Any, TypeGuard

from mase.errors import InvalidTextError

__all__ = ["check_no_model", "check_texts", "is_series", "remedy"]

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
