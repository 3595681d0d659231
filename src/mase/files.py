"""Files that appear whole or not at all, and are read without waiting for ever."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mase.errors import DataError
from mase.platforms import open_pipe

__all__ = [
    "cannot_read",
    "cannot_write",
    "check_writable",
    "read_bytes",
    "replacing",
    "write_stream",
    "write_text",
    "writing",
]


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, or of a pipe that somebody writes to.

    Raises
    ------
    DataError
        If it cannot be read, or is a device or a pipe without a writer, which would have to be waited for.
    """
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISFIFO(mode):
            return _piped(path)
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise DataError(f"cannot read {os.fspath(path)!r}: it is a device, expected a file")
        return Path(path).read_bytes()
    except DataError:
        raise
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        raise cannot_read(path, error) from error


def _piped(path: str | os.PathLike[str]) -> bytes:
    descriptor = open_pipe(path)
    with os.fdopen(descriptor, "rb") as file:
        try:
            first = os.read(descriptor, 1)
        except BlockingIOError:  # there is a writer, who has written nothing yet
            first = None
        if first == b"":
            raise DataError(f"cannot read {os.fspath(path)!r}: it is a pipe that nobody writes to, expected a file")
        os.set_blocking(descriptor, True)
        return (first or b"") + file.read()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8 to `path`, whose folder is made if there is none; a reader never sees half of it.

    Raises
    ------
    DataError
        If the file cannot be written. A file that was there before is left as it was.
    """
    write_stream(path, BytesIO(text.encode()))


def write_stream(path: str | os.PathLike[str], stream: BinaryIO) -> None:
    """Write the rest of `stream` to `path`, whose folder is made if there is none; a reader never sees half of it.

    Raises
    ------
    DataError
        If the file cannot be written. A file that was there before is left as it was.
    """
    target = check_writable(path)
    with writing(path):
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
            with target.open("wb") as file:
                shutil.copyfileobj(stream, file)
            return
        with replacing(target.resolve()) as draft, draft.open("wb") as file:  # a link stays a link
            shutil.copyfileobj(stream, file)


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
        allowed = os.access(target if os.access(target, os.F_OK) else target.parent, os.W_OK)
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        raise cannot_write(path, error) from error
    if target.is_dir():
        raise DataError(f"cannot write {os.fspath(path)!r}: it is a folder, expected the path of a file")
    if not allowed:
        raise DataError(f"cannot write {os.fspath(path)!r}: no permission; choose another path")
    return target


def cannot_read(path: str | os.PathLike[str], error: Exception) -> DataError:
    """Return the error for a file that cannot be read."""
    return DataError(f"cannot read {os.fspath(path)!r}: {_reason(error)}")


def cannot_write(path: str | os.PathLike[str], error: Exception) -> DataError:
    """Return the error for a file that cannot be written."""
    return DataError(f"cannot write {os.fspath(path)!r}: {_reason(error)}; choose another path")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
