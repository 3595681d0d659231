"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mase.errors import DataError

__all__ = ["cannot_write", "check_writable", "replacing", "write_text", "writing"]


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8 to `path`, whose folder is made if there is none; a reader never sees half of it.

    Raises
    ------
    DataError
        If the file cannot be written. A file that was there before is left as it was.
    """
    target = check_writable(path)
    with writing(path):
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
            target.write_text(text, encoding="utf-8", newline="\n")
            return
        with replacing(target.resolve()) as draft:  # a link stays a link
            draft.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give what goes wrong while the block writes to `path` its typed error, but for a reader that left.

    Raises
    ------
    DataError
        If the system refuses, as on a full disk.
    BrokenPipeError
        If `path` is a pipe that nobody reads any more.
    """
    try:
        yield
    except (BrokenPipeError, DataError):
        raise
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends well, and is removed when it does not.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}"
    # Not by tempfile: a new file is readable for those whom the user's umask lets read it.
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield draft
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


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
