"""Schema ``mase.attribution/2``: from plain JSON types to results, every value checked. `docs/json.md` describes it.

The types of the fields of `Attribution` are the schema: msgspec checks plain JSON against them and writes them down as
JSON Schema. `mase.io.checks` checks what types cannot say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from mase.attribution import Attribution
from mase.errors import DataError
from mase.io.checks import check
from mase.io.version_1 import Version1, upgraded

__all__ = ["EARLIER_SCHEMA", "ERROR_SCHEMA", "SCHEMA", "Failure", "from_dict", "json_schema", "result"]

SCHEMA = "mase.attribution/2"
EARLIER_SCHEMA = "mase.attribution/1"
ERROR_SCHEMA = "mase.error/1"
_LONGEST_REASON = 300

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be explained: its line (or number) in the input, the error's type and its message."""

    line: int
    error: str
    message: str


def result(document: Any, *, place: str) -> Attribution | Failure:
    """Return the attribution, or the failure that takes its place, in a JSON document; `place` names it in errors.

    Raises
    ------
    DataError
        If it is neither, or a value is not what it can be.
    """
    if not isinstance(document, dict) or document.get("schema") != ERROR_SCHEMA:
        return from_dict(document, place=place)
    failure = _converted(document, Failure, place)
    if failure.line < 1 or not failure.error:
        raise DataError(
            f"{place}: 'line' is {failure.line} and 'error' {failure.error!r}, expected a line >= 1 and a name"
        )
    return failure


def from_dict(mapping: Mapping[str, Any], *, place: str = "the mapping") -> Attribution:
    """Return the attribution that `to_dict` made into `mapping`, now or in schema 1; `place` names it in errors.

    Raises
    ------
    DataError
        If it has another schema, lacks a key, or a value is of the wrong type or not what it can be.
    """
    if not isinstance(mapping, Mapping):
        raise DataError(f"{place} holds a {type(mapping).__name__}, expected an object of schema {SCHEMA}")
    schema = mapping.get("schema")
    if schema == EARLIER_SCHEMA:
        place = f"{place} (read from schema 1)"
        return check(upgraded(_converted(mapping, Version1, place), place=place), place=place)
    if schema == SCHEMA:
        return check(_converted(mapping, Attribution, place), place=place)
    raise DataError(
        f"{place} has the schema {schema!r:.80}, expected {SCHEMA!r} or {EARLIER_SCHEMA!r}; "
        "if a later release wrote it, read it with that release"
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``mase.attribution/2``, made from the types of the fields of `Attribution`."""
    made = msgspec.json.schema(Attribution)
    for one in made["$defs"].values():
        one["description"] = " ".join(one["description"].partition("\n\n")[0].split())
    whole, response = made["$defs"]["Attribution"], made["$defs"]["Response"]
    whole["properties"] = {"schema": {"const": SCHEMA}} | whole["properties"]
    whole["required"] = ["schema", *whole["required"]]
    response["properties"]["intercept"] = {"type": "number"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA} | made


def _converted(plain: Mapping[str, Any], kind: type[T], place: str) -> T:
    """Return plain JSON as a value of a type, extra keys left out."""
    try:
        return msgspec.convert(dict(plain), kind)
    except (msgspec.ValidationError, ValueError) as error:  # a lone surrogate is a ValueError of its own
        raise DataError(f"{place} does not fit its schema: {error!s:.{_LONGEST_REASON}}") from error
