"""Local folders and object stores behind one interface."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mase.errors import DataError, MissingDependencyError, OptionError
from mase.files import cannot_read, cannot_write, without_password
from mase.platforms import flush_folder, locked


class LocalStorage:
    """A folder on this machine. Content and names are flushed to the disk before a method returns.

    Only `create` and `alone` make the folder. A file that is written into one that was moved meanwhile is an error.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = os.fspath(root)

    def exists(self, name: str) -> bool:
        """Return whether there is a file."""
        with self._reading(name) as path:
            return path.is_file()

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a subfolder in order."""
        with self._reading(folder) as path:
            if not path.is_dir():
                return []
            return sorted(entry.name for entry in os.scandir(path) if entry.is_file())

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        with self._reading(name) as path:
            return path.stat().st_size

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._reading(name) as path:
            if path.exists() and not path.is_file():  # a pipe or a device, from which reading may never end
                raise DataError(f"{os.fspath(path)!r} is not a regular file, expected one")
            return path.read_bytes()

    def open(self, name: str) -> AbstractContextManager[Any]:
        """Open a file of which parts are read."""
        with self._reading(name) as path:
            return path.open("rb")

    def write(self, name: str, content: Any) -> None:
        """Write a draft beside the file, flush it, and rename it."""
        with self._writing(name) as path, ExitStack() as stack:
            draft = self._draft(path, content)
            stack.callback(draft.unlink, missing_ok=True)
            draft.replace(path)
            flush_folder(path.parent)

    def write_all(self, contents: Mapping[str, Any]) -> None:
        """Write drafts beside the files before any of them is replaced, so that a full disk changes nothing."""
        *_, last = contents
        with ExitStack() as stack:
            drafts: dict[str, Path] = {}
            for name, content in contents.items():
                with self._writing(name) as path:
                    drafts[name] = self._draft(path, content)
                    stack.callback(drafts[name].unlink, missing_ok=True)
            self.delete(last)
            for name, draft in drafts.items():
                with self._writing(name) as path:
                    draft.replace(path)
                    flush_folder(path.parent)

    def create(self, name: str, content: bytes) -> bool:
        """Link a draft to the name, which fails if the name is taken.

        Where there are no hard links, the draft is renamed if the name is free. Two writers at the same moment may then
        both succeed, as in an object store.
        """
        with self._writing(name) as path:
            self.root.mkdir(parents=True, exist_ok=True)
            draft = self._draft(path, content)
            try:
                os.link(draft, path)
            except FileExistsError:
                return False
            except OSError:  # such as on exFAT, in folders of a virtual machine and on some network file systems
                return _renamed(draft, path)
            finally:
                draft.unlink(missing_ok=True)
            flush_folder(path.parent)
            return True

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        with self._writing(name) as path:
            path.unlink(missing_ok=True)
            if path.parent.is_dir():
                flush_folder(path.parent)

    @contextmanager
    def alone(self, folder: str) -> Iterator[None]:
        """Lock the folder; some network file systems have no locks."""
        with ExitStack() as stack:
            with self._writing(folder) as path:
                path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(path))
            yield

    def _draft(self, path: Path, content: Any) -> Path:
        path.parent.mkdir(exist_ok=True)
        draft = path.parent / f".{path.name}.{secrets.token_hex(8)}"
        try:
            with draft.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft

    @contextmanager
    def _reading(self, name: str) -> Iterator[Path]:
        path = self.root / name
        try:
            if not path.resolve().is_relative_to(self.root.resolve()):
                raise DataError(f"{os.fspath(path)!r} is a link that leads out of its folder; put a copy in its place")
            yield path
        except DataError:
            raise
        except (OSError, ValueError, RuntimeError) as error:  # NUL characters in a path; links in a circle
            raise cannot_read(path, error) from error

    @contextmanager
    def _writing(self, name: str) -> Iterator[Path]:
        path = self.root / name
        try:
            yield path
        except (OSError, ValueError) as error:
            raise cannot_write(path, error) from error


def _renamed(draft: Path, path: Path) -> bool:
    """Rename a draft if its new name is free, and return whether that was so and no other file took its place."""
    if path.exists():
        return False
    content = draft.read_bytes()
    draft.replace(path)
    flush_folder(path.parent)
    return path.read_bytes() == content


class RemoteStorage:
    """A folder in an object store, through pyarrow or fsspec. An object is visible once it is complete."""

    def __init__(self, filesystem: Any, root: str, place: str) -> None:
        self.filesystem, self.root, self.place = filesystem, root.rstrip("/"), place

    @classmethod
    def of(cls, uri: str) -> "RemoteStorage":
        """Return the folder at a URI of pyarrow (s3, gs, hdfs) or fsspec."""
        from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

        try:
            filesystem, root = FileSystem.from_uri(uri)
            return cls(filesystem, root, uri)
        except (OSError, ValueError) as unknown:
            try:
                import fsspec

                filesystem, root = fsspec.core.url_to_fs(uri)
            except ImportError as error:
                raise MissingDependencyError(
                    f"{uri!r:.200} cannot be opened ({unknown}; {error}); install the package for its scheme"
                ) from error
            except Exception as error:
                raise DataError(f"{uri!r:.200} is not a folder that can be opened: {_said(error)}") from error
            return cls(PyFileSystem(FSSpecHandler(filesystem)), root, uri)

    def exists(self, name: str) -> bool:
        """Return whether there is an object."""
        from pyarrow.fs import FileType

        with self._refused("read", name) as path:
            return bool(self.filesystem.get_file_info(path).type == FileType.File)

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in a subfolder in order."""
        from pyarrow.fs import FileSelector, FileType

        with self._refused("read", folder) as path:
            result = self.filesystem.get_file_info(FileSelector(path, allow_not_found=True))
            return sorted(info.base_name for info in result if info.type == FileType.File)

    def size(self, name: str) -> int:
        """Return the size of an object in bytes."""
        with self._refused("read", name) as path:
            return int(self.filesystem.get_file_info(path).size or 0)

    def read(self, name: str) -> bytes:
        """Return the content of an object."""
        with self._refused("read", name) as path, self.filesystem.open_input_stream(path) as stream:
            return bytes(stream.read())

    def open(self, name: str) -> AbstractContextManager[Any]:
        """Open an object of which parts are read."""
        with self._refused("read", name) as path:
            opened: AbstractContextManager[Any] = self.filesystem.open_input_file(path)
            return opened

    def write(self, name: str, content: Any) -> None:
        """Write an object."""
        with self._refused("write", name) as path:
            self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            with self.filesystem.open_output_stream(path) as stream:
                stream.write(content)

    def write_all(self, contents: Mapping[str, Any]) -> None:
        """Write objects in order, after the last one was deleted."""
        *_, last = contents
        self.delete(last)
        for name, content in contents.items():
            self.write(name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object if there is none; two writers at the same moment may both succeed."""
        if self.exists(name):
            return False
        self.write(name, content)
        return self.read(name) == content

    def delete(self, name: str) -> None:
        """Delete an object, if it is there."""
        if self.exists(name):
            with self._refused("write", name) as path:
                self.filesystem.delete_file(path)

    def alone(self, folder: str) -> AbstractContextManager[None]:
        """Do nothing: an object store has no locks."""
        return nullcontext()

    @contextmanager
    def _refused(self, verb: str, name: str) -> Iterator[str]:
        try:
            yield f"{self.root}/{name}"
        except Exception as error:
            raise DataError(f"cannot {verb} {f'{self.place}/{name}'!r:.300}: {_said(error)}") from error


def _said(error: Exception) -> str:
    """Return what an error of a file system says; those of other packages may be of any type, and say nothing."""
    return str(error) or type(error).__name__


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
    """Return the folder at a path or a URI, such as ``s3://bucket/folder``; it need not exist yet."""
    if not isinstance(place, str | os.PathLike):
        raise OptionError(
            f"the folder is of type {type(place).__name__}, expected a path or a URI, as in 'runs/reviews'"
        )
    name = os.fspath(place)
    hidden = without_password(name)
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
