"""Convert plain JSON types to results, and check every value. `docs/json.md` describes schema ``mase.attribution/2``.

The types of the fields of `Attribution` define the schema: msgspec checks plain JSON against them and exports them as
JSON Schema. `mase.io.checks` checks what types cannot express.
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
    """Return the attribution or the failure in a JSON document; errors name `place`.

    Raises
    ------
    DataError
        If it is neither, or a value is invalid.
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
    """Return the attribution from which `to_dict` made a mapping, in schema 2 or 1; errors name `place`.

    Raises
    ------
    DataError
        If the mapping has another schema or lacks a key, or if a value is invalid.
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
    encoded = msgspec.json.encode(msgspec.json.schema(Attribution))  # with lists in the place of tuples
    schema: dict[str, Any] = msgspec.json.decode(encoded)
    for definition in schema["$defs"].values():
        definition["description"] = " ".join(definition["description"].partition("\n\n")[0].split())
    attribution, response = schema["$defs"]["Attribution"], schema["$defs"]["Response"]
    # What `mase.io.json` writes beside the fields.
    attribution["properties"] = {"schema": {"const": SCHEMA}} | attribution["properties"]
    attribution["required"] = ["schema", *attribution["required"]]
    response["properties"] |= {"intercept": {"type": "number"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA} | schema


def _converted(plain: Mapping[str, Any], kind: type[T], place: str) -> T:
    """Return plain JSON as a value of a type; unknown keys are ignored."""
    try:
        return msgspec.convert(dict(plain), kind)
    except (msgspec.ValidationError, ValueError) as error:  # msgspec raises a plain ValueError for a lone surrogate
        raise DataError(f"{place} does not fit its schema: {error!s:.{_LONGEST_REASON}}") from error
