"""Read and write attributions as JSON, without loss, in schema ``mase.attribution/2``; see `docs/json.md`."""

import codecs
import json
import math
import re
from collections.abc import Iterable
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any, NoReturn

import msgspec

from mase.attribution import Attribution
from mase.errors import DataError
from mase.files import read_bytes, write_text
from mase.io.schema import ERROR_SCHEMA, SCHEMA, Failure, from_dict, result

__all__ = [
    "ERROR_SCHEMA",
    "SCHEMA",
    "Failure",
    "dumps",
    "from_dict",
    "load",
    "load_many",
    "loads",
    "parse",
    "save",
    "save_many",
    "to_dict",
]

# Line ends of some JSONL readers, control characters of some terminals, and surrogates, which UTF-8 cannot encode.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def to_dict(attribution: Attribution) -> dict[str, Any]:
    """Return an attribution as plain JSON types: its fields by name, with the intercepts.

    Raises
    ------
    DataError
        If it holds a number that is not finite, or a value that JSON cannot represent.
    """
    plain: dict[str, Any] = json.loads(_strict(attribution))
    return plain


def dumps(value: Attribution | Failure) -> str:
    """Return an attribution or a failure as one line of strict JSON, without the line end.

    Raises
    ------
    DataError
        If it holds a number that is not finite, or a value that JSON cannot represent.
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", _strict(value))


def save(attribution: Attribution, path: str | PathLike[str]) -> None:
    """Write an attribution to `path` atomically, as one line of JSON.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    save_many([attribution], path)


def save_many(attributions: Iterable[Attribution], path: str | PathLike[str]) -> None:
    """Write attributions to `path` atomically, one per line of JSON.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    write_text(path, "".join(dumps(attribution) + "\n" for attribution in attributions))


def load(path: str | PathLike[str]) -> Attribution:
    """Return the attribution in a JSON file, equal to the one that was saved.

    Raises
    ------
    DataError
        If the file is missing, is not JSON, or does not hold exactly one valid attribution of schema
        ``mase.attribution/2`` (or 1).
    """
    results = load_many(path)
    if not results:
        raise DataError(f"{fspath(path)!r} is empty, expected JSON of schema {SCHEMA}")
    if len(results) != 1:
        raise DataError(
            f"{fspath(path)!r} holds {len(results)} results, expected one; read it with mase.io.json.load_many(path)"
        )
    (loaded,) = results
    if isinstance(loaded, Failure):
        raise DataError(
            f"{fspath(path)!r} holds a failure ({loaded.error:.80}: {loaded.message:.400}), expected an attribution"
        )
    return loaded


def load_many(path: str | PathLike[str]) -> list[Attribution | Failure]:
    """Return the results in a JSONL file (or the one in a JSON file) in order; a failed text is a `Failure`.

    An empty file has no results, as `save_many` writes it for none.

    A full disk or a killed run may leave an incomplete last line. It becomes a `Failure` with the error
    ``"DataError"``.

    Raises
    ------
    DataError
        If the file cannot be read, or if any other line is neither an attribution nor a failure. The message names the
        line.
    """
    name, content = fspath(path), read_bytes(path).removeprefix(codecs.BOM_UTF8)
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if not lines:
        return []
    if len(lines) == 1 or not _is_json(lines[0][1]):  # one document, possibly indented
        document = b"\n".join(line for _, line in lines)
        return [loads(document, place=repr(name))]
    results = [loads(line, place=f"{name!r}, line {number}") for number, line in lines[:-1]]
    number, last = lines[-1]
    if _is_json(last):
        return [*results, loads(last, place=f"{name!r}, line {number}")]
    message = f"{name!r}, line {number} is the last line and is incomplete JSON; explain that text again"
    return [*results, Failure(number, DataError.__name__, message)]


def loads(line: str | bytes, *, place: str = "the line") -> Attribution | Failure:
    """Return the attribution or failure in a line of JSON; errors name `place`.

    Raises
    ------
    DataError
        If the line is not JSON in UTF-8, or neither an attribution nor a failure.
    """
    return result(parse(line, place=place), place=place)


def parse(line: str | bytes, *, place: str = "the line") -> Any:
    """Return strict JSON as plain types; errors name `place`.

    Raises
    ------
    DataError
        If it is not JSON in UTF-8.
    """
    try:
        return _parse(line)
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is not UTF-8 at byte {error.start}, expected a JSON file") from error
    except ValueError as error:
        raise DataError(f"{place} is not JSON ({error}), expected schema {SCHEMA}") from error


def _strict(value: Attribution | Failure) -> str:
    """Return a result as strict JSON."""
    try:
        fields = msgspec.to_builtins(value, enc_hook=_plain)
        if isinstance(value, Failure):
            return json.dumps({"schema": ERROR_SCHEMA} | fields, ensure_ascii=False)
        return json.dumps(_completed(value, fields), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"the result cannot be written as JSON ({error}), expected plain and finite values") from error


def _completed(value: Attribution, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an attribution as plain types with the schema and what is computed from them."""
    for plain, response in zip(fields["responses"], value.responses, strict=True):
        plain.update(intercept=response.intercept)
    zoomed = None if value.zoomed is None else _completed(value.zoomed, fields["zoomed"])
    return {"schema": SCHEMA} | fields | {"zoomed": zoomed}


def _plain(value: object) -> int | float | str:
    """Return a NumPy scalar as a number or a str of Python."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _is_json(line: bytes) -> bool:
    try:
        _parse(line)
    except ValueError:
        return False
    return True


def _parse(line: str | bytes) -> Any:
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:40])


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")
