"""Read untrusted files, in particular JSON, within limits on size, nesting and the number of values."""

import json
import os
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.models import limits

__all__ = ["is_file", "is_folder", "is_taken", "read_bytes", "read_json", "read_text"]


def is_folder(path: Path) -> bool:
    """Return whether the folder exists; a string that cannot be a path (too long, or with a NUL) is no folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Return whether it is a regular file; a string that cannot be a path (too long, or with a NUL) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_taken(name: str) -> bool:
    """Return whether a file of any kind, or a broken link, has this name."""
    try:
        return os.path.lexists(name)
    except ValueError:
        return False


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes.

    Raises
    ------
    DataError
        If it is not a regular file (reading a pipe or a device might never end), is too large, or cannot be read.
    """
    try:
        if not path.is_file():
            raise DataError(
                f"cannot read {path}: {'it is not a regular file' if path.exists() else 'it does not exist'}, "
                "expected a file"
            )
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path}: {error}") from error
    if len(content) > most:
        raise DataError(f"{path} has more than {most:,} bytes, expected no more, as in all known models")
    return content


def read_text(path: Path, most: int) -> str:
    """Return the content of a UTF-8 file of at most `most` bytes.

    Raises
    ------
    DataError
        If it is not a regular file, is too large, is not UTF-8, or cannot be read.
    """
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"cannot read {path}: byte {error.start} is not valid UTF-8; convert the file to UTF-8"
        ) from error


def read_json(path: Path, most: int = limits.JSON_BYTES, *, unique: bool = False) -> Any:
    """Return the content of a JSON file of at most `most` bytes.

    Parameters
    ----------
    path, most
        The file and its largest size in bytes.
    unique
        Whether a duplicate name in an object is an error. Parsers do not agree on which of the two values counts.

    Raises
    ------
    DataError
        If it cannot be read, or is not JSON within the limits on depth, values and digits. "Infinity" is accepted,
        because published configurations contain it; NaN is not.
    """
    text = read_text(path, most)
    if sum(map(text.count, ",[{")) > (values := most // limits.BYTES_OF_VALUE):
        raise DataError(f"{path} has more than {values:,} values, expected no more, as in all known models")
    try:
        content = json.loads(
            text,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_constant,
            object_pairs_hook=_unique if unique else dict,
        )
    except RecursionError as error:
        raise _too_deep(path) from error
    except ValueError as error:
        raise DataError(f"cannot read {path}: it is not JSON ({error})") from error
    _check_depth(path, content)
    return content


def _too_deep(path: Path) -> DataError:
    return DataError(f"{path} has more than {limits.DEPTH} levels of nesting, expected no more, as in all known models")


def _check_depth(path: Path, value: Any) -> None:
    level = [value]
    for _ in range(limits.DEPTH + 1):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for values in inner for item in values if isinstance(item, dict | list)]
        if not level:
            return
    raise _too_deep(path)


def _integer(digits: str) -> int:
    if len(digits) > limits.DIGITS:
        raise ValueError(f"an integer has {len(digits)} digits, expected at most {limits.DIGITS}")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits:.40} is too large for a floating-point number")
    return value


def _constant(name: str) -> float:
    if name == "Infinity":
        return float(name)
    raise ValueError(f"{name} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.60} occurs twice in an object")
    return values
