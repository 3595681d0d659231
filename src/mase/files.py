"""Files that are written whole or not at all, files that are read without blocking, and child processes."""

import os
import re
import secrets
import shutil
import signal
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from multiprocessing import spawn
from pathlib import Path
from typing import BinaryIO, TypeVar

from mase.errors import DataError
from mase.platforms import open_pipe

T = TypeVar("T")


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file, or of a named pipe that has a writer."""
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISFIFO(mode):
            return _read_pipe(path)
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise DataError(f"cannot read {os.fspath(path)!r}: it is a device, expected a file")
        return Path(path).read_bytes()
    except DataError:
        raise
    except (OSError, ValueError) as error:  # A path with a NUL character raises ValueError.
        raise cannot_read(path, error) from error


def file_state(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the size of a file in bytes and the time of its last change in nanoseconds."""
    try:
        status = os.stat(path)  # noqa: PTH116 (called for every row; a Path takes twice as long)
    except (OSError, ValueError) as error:  # A path with a NUL character raises ValueError.
        raise cannot_read(path, error) from error
    return status.st_size, status.st_mtime_ns


def while_unchanged(
    path: str | os.PathLike[str], state: tuple[int, int], values: Iterable[T], changed: str
) -> Iterator[T]:
    """Yield values that are read from a file, each only if the file still has its `state` after it was read."""

    def check() -> None:
        if file_state(path) != state:
            raise DataError(f"{os.fspath(path)!r} has changed {changed}")

    check()
    try:
        for value in values:
            check()
            yield value
    except DataError:
        check()  # A file that is being written may seem to be broken.
        raise
    check()


def _read_pipe(path: str | os.PathLike[str]) -> bytes:
    descriptor = open_pipe(path)
    with os.fdopen(descriptor, "rb") as file:
        try:
            first = os.read(descriptor, 1)
        except BlockingIOError:  # There is a writer, which has written nothing yet.
            first = None
        if first == b"":
            raise DataError(f"cannot read {os.fspath(path)!r}: it is a pipe without a writer, expected a file")
        os.set_blocking(descriptor, True)
        return (first or b"") + file.read()


def drop_cut_line(path: str | os.PathLike[str]) -> bytes:
    """Remove the last line of a file if a kill cut it off, and return the lines that are left."""
    content = read_bytes(path)
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with writing(path):
            os.truncate(path, len(whole))
    return whole


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` as UTF-8, atomically; create the folder if it does not exist."""
    write_stream(path, BytesIO(text.encode()))


def write_stream(path: str | os.PathLike[str], stream: BinaryIO) -> None:
    """Write the rest of `stream` to `path`, atomically; create the folder if it does not exist."""
    target = check_writable(path)
    with writing(path):
        if target.exists() and not target.is_file():  # A pipe or a device cannot be replaced.
            with target.open("wb") as file:
                shutil.copyfileobj(stream, file)
            return
        with replacing(target.resolve()) as draft, draft.open("wb") as file:  # Keep a symbolic link.
            shutil.copyfileobj(stream, file)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert OS errors while the block writes to `path` into `DataError`, except for a broken pipe."""
    try:
        yield
    except (BrokenPipeError, DataError):
        raise
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, which replaces `path` if the block succeeds and is removed otherwise.

    Its content is flushed to the disk before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.parent / f".{path.name[:40]}.{secrets.token_hex(8)}"
    # Not with tempfile, which ignores the user's umask.
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a file can be written there; create its folder, but leave an existing file unchanged."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        allowed = os.access(target if os.access(target, os.F_OK) else target.parent, os.W_OK)
        is_folder = target.is_dir()
    except (OSError, ValueError) as error:  # A path with a NUL character raises ValueError.
        raise cannot_write(path, error) from error
    if is_folder:
        raise DataError(f"cannot write {os.fspath(path)!r}: it is a folder, expected the path of a file")
    if not allowed:
        raise DataError(f"cannot write {os.fspath(path)!r}: no permission; choose another path")
    return target


# A URI up to a user name and a password. They end before the first slash, unless a secret key was pasted with its own.
# A path has one slash in the place of two.
_PASSWORD = re.compile(r"([\w+.-]+:/{1,2})[^/?#:\[]*:(?!\d*(?:[/?#]|$))(?:[^/?#]*|[^@]*)@")


def without_password(text: str) -> str:
    """Return a text for messages, without the user names and passwords of the URIs in it.

    Examples
    --------
    >>> without_password("http://me:secret@host/path")
    'http://...@host/path'
    """
    return _PASSWORD.sub(r"\1...@", text)


def cannot_read(path: str | os.PathLike[str], error: Exception) -> DataError:
    """Return the error for a file that cannot be read."""
    return DataError(f"cannot read {without_password(os.fsdecode(path))!r}: {_reason(error)}")


def cannot_write(path: str | os.PathLike[str], error: Exception) -> DataError:
    """Return the error for a file that cannot be written."""
    if isinstance(error, FileExistsError):
        link = next(
            (parent for parent in (Path(path), *Path(path).parents) if parent.is_symlink() and not parent.exists()),
            None,
        )
        if link is not None:
            return DataError(f"cannot write {os.fspath(path)!r}: the link {os.fspath(link)!r} leads nowhere; remove it")
    return DataError(f"cannot write {without_password(os.fsdecode(path))!r}: {_reason(error)}; choose another path")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


_INPUT, _OUTPUT, _ERRORS = 0, 1, 2

# A child ignores Ctrl-C, which the terminal sends to it as well: its parent ends it. The path for imports is the
# parent's. The script of the parent is not imported, so that it needs no `if __name__ == "__main__"`.
_PROGRAM = """\
import sys
sys.path[:] = {path!r}
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from {module} import main
main(*{arguments!r})
"""


def command(module: str, *arguments: str) -> list[str]:
    """Return the command of a new Python process that calls the function `main` of a module with these arguments."""
    program = _PROGRAM.format(path=sys.path, module=module, arguments=arguments)
    return [os.fsdecode(spawn.get_executable()), "-P", "-c", program]


def pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes from and to the parent, in the child, and keep other code away from them.

    They are the standard streams at first. Other code, such as a model, then has an empty standard input instead, and
    what it prints goes to standard error.
    """
    messages, answers = os.fdopen(os.dup(_INPUT), "rb"), os.fdopen(os.dup(_OUTPUT), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, _INPUT)
    os.close(null)
    os.dup2(_ERRORS, _OUTPUT)
    sys.stdin = TextIOWrapper(BytesIO(), encoding="utf-8")
    return messages, answers


def ending(code: int) -> str:
    """Return how a process ended, from its exit code as `subprocess` has it.

    Examples
    --------
    >>> ending(3), ending(-9)
    ('ended with exit code 3', 'was ended by SIGKILL, as the system does when memory runs out,')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", as the system does when memory runs out," if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"
