"""Folders on this machine or in an object store, in which files are written whole or not at all."""

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mase.corpus.local_storage import LocalStorage
from mase.corpus.remote_storage import RemoteStorage
from mase.errors import DataError, OptionError

__all__ = ["Storage", "beside", "storage_of"]

# A URI up to a user name and a password. They end before the first slash, unless a secret key was pasted with its own.
_PASSWORD = re.compile(r"([\w+.-]+://)[^/?#:\[]*:(?!\d*(?:[/?#]|$))(?:[^/?#]*|[^@]*)@")


class Storage(Protocol):
    """A folder. Names of files are relative to it, with slashes.

    All methods raise `DataError` if the storage refuses.
    """

    place: str

    def exists(self, name: str) -> bool:
        """Return whether there is a file."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a subfolder (without it) in order; none if there is no such folder."""
        ...

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        ...

    def open(self, name: str) -> AbstractContextManager[Any]:
        """Open a file of which parts are read."""
        ...

    def write(self, name: str, content: Any) -> None:
        """Write a file, whole or not at all, and replace one that is there. `content` is bytes or a buffer.

        A folder on this machine must be there: `create` has made it, or `alone`.
        """
        ...

    def write_all(self, contents: Mapping[str, Any]) -> None:
        """Write several files by name in order, each as `write` does; until the end there is no file of the last name.

        So whoever finds the last file finds the others as they were written with it.
        """
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write a file if there is none of this name, and return whether that was so."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        ...

    def alone(self, folder: str) -> AbstractContextManager[None]:
        """Return a context in which other processes wait that call this for the same subfolder, if that is possible."""
        ...


def storage_of(place: str | os.PathLike[str]) -> Storage:
    """Return the folder at a path or a URI, such as ``s3://bucket/folder``; it need not exist yet.

    Raises
    ------
    DataError
        If the URI is not understood, has a password, or is a file of another host. The message does not quote the
        password.
    OptionError
        If it is neither a str nor a path.
    MissingDependencyError
        If a package for its scheme is not installed.
    """
    if not isinstance(place, str | os.PathLike):
        raise OptionError(
            f"the folder is of type {type(place).__name__}, expected a path or a URI, as in 'runs/reviews'"
        )
    name = os.fspath(place)
    hidden = _PASSWORD.sub(r"\1...@", name)
    if hidden != name:
        raise DataError(
            f"the URI {hidden!r:.200} has a password, expected none, because messages and reports "
            "name the run: put it into the environment or the configuration of the store, as AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY for s3"
        )
    if name.startswith("file://"):
        return LocalStorage(_path_of(name))
    return RemoteStorage.of(name) if "://" in name else LocalStorage(Path(name))


def beside(place: str, number: int) -> str:
    """Return the path or URI of the folder beside another one whose name ends in a number.

    Examples
    --------
    >>> beside("runs/reviews/", 2), beside("s3://bucket/run?region=eu-west-1", 3)
    ('runs/reviews-2', 's3://bucket/run-3?region=eu-west-1')
    """
    folder, mark, options = place.partition("?") if "://" in place else (place, "", "")
    return f"{folder.rstrip('/')}-{number}{mark}{options}"


def _path_of(uri: str) -> Path:
    """Return the path of a URI of a file on this machine."""
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise DataError(
            f"{uri!r:.200} is on the host {parts.netloc!r:.80}, expected three slashes and an absolute path, as in "
            "file:///data/run"
        )
    if parts.query or parts.fragment:
        raise DataError(f"{uri!r:.200} has '?' or '#', expected %3F or %23 for it; or use a path without file://")
    return Path(url2pathname(parts.path))
