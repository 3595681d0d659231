"""JSON files that nobody vouches for, read within limits: a size, a depth, a number of values."""

import json
import os
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.models import limits

__all__ = ["is_folder", "is_taken", "read_bytes", "read_json", "read_text"]


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; what cannot be a path, since it is too long or holds a NUL, is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_taken(name: str) -> bool:
    """Return whether a file of any kind, or a link to nothing, has this name."""
    try:
        return os.path.lexists(name)
    except ValueError:
        return False


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most so many bytes.

    Raises
    ------
    DataError
        If it is no regular file (a pipe would be waited for, a device never ends), too large, or cannot be read.
    """
    try:
        if not path.is_file():
            raise DataError(
                f"cannot read {path}: got {'no regular file' if path.exists() else 'no such file'}, expected a file"
            )
        with path.open("rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {path}: {error}") from error
    if len(content) > most:
        raise DataError(f"{path} has more than {most:,} bytes, expected at most so many: no known model needs more")
    return content


def read_text(path: Path, most: int) -> str:
    """Return the content of a UTF-8 file of at most so many bytes.

    Raises
    ------
    DataError
        If it is no regular file, too large, not UTF-8, or cannot be read.
    """
    try:
        return read_bytes(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"cannot read {path}: it is not UTF-8 at byte {error.start}; convert it") from error


def read_json(path: Path, most: int = limits.JSON_BYTES, *, unique: bool = False) -> Any:
    """Return what a JSON file of at most so many bytes holds.

    Parameters
    ----------
    path, most
        The file and its largest size in bytes.
    unique
        Whether a name that stands twice in an object is an error: parsers do not agree on which of the two counts.

    Raises
    ------
    DataError
        If it cannot be read, or is not JSON within the limits of depth, values and digits. "Infinity" is let through,
        since configurations hold it; NaN is not.
    """
    text = read_text(path, most)
    if sum(map(text.count, ",[{")) > (values := most // limits.BYTES_OF_VALUE):
        raise DataError(f"{path} has more than {values:,} values, expected at most so many: no known model needs more")
    try:
        found = json.loads(
            text,
            parse_int=_whole,
            parse_float=_real,
            parse_constant=_constant,
            object_pairs_hook=_once if unique else dict,
        )
    except RecursionError as error:
        raise _too_deep(path) from error
    except ValueError as error:
        raise DataError(f"cannot read {path}: it is not JSON ({error})") from error
    _check_depth(path, found)
    return found


def _too_deep(path: Path) -> DataError:
    return DataError(
        f"{path} has values nested more than {limits.DEPTH} deep, expected at most that: no known model needs more"
    )


def _check_depth(path: Path, value: Any) -> None:
    level = [value]
    for _ in range(limits.DEPTH + 1):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [one for values in inner for one in values if isinstance(one, dict | list)]
        if not level:
            return
    raise _too_deep(path)


def _whole(digits: str) -> int:
    if len(digits) > limits.DIGITS:
        raise ValueError(f"a whole number has {len(digits)} digits, expected at most {limits.DIGITS}")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{digits:.40} is too large for a number")
    return value


def _constant(name: str) -> float:
    if name == "Infinity":
        return float(name)
    raise ValueError(f"{name} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r:.60} stands twice in an object")
    return found
