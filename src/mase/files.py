"""Text files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path

from mase.errors import DataError

__all__ = ["cannot_write", "check_writable", "write_text"]


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8 to `path`, whose folder is made if there is none; a reader never sees half of it.

    Raises
    ------
    DataError
        If the file cannot be written. A file that was there before is left as it was.
    """
    target = check_writable(path)
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
        target.write_text(text, encoding="utf-8", newline="\n")
        return
    target = target.resolve()  # a link stays a link
    try:
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.")
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp gives 0o600, which other users of a shared folder could not read.
        Path(draft).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(draft).replace(target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        Path(draft).unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return `path` with its folder made, if a file can be written there; what is there already is not touched.

    Raises
    ------
    DataError
        If not.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    if target.is_dir():
        raise DataError(f"cannot write {os.fspath(path)!r}: it is a folder, expected the path of a file")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DataError(f"cannot write {os.fspath(path)!r}: no permission; choose another path")
    return target


def cannot_write(path: str | os.PathLike[str], error: OSError) -> DataError:
    """Return the error for a file that cannot be written."""
    return DataError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}; choose another path")
