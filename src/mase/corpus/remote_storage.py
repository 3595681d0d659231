"""Folders in an object store."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from mase.errors import DataError, MissingDependencyError

__all__ = ["RemoteStorage"]


class RemoteStorage:
    """A folder in an object store, through pyarrow or fsspec. An object is visible once it is complete."""

    def __init__(self, filesystem: Any, root: str, place: str) -> None:
        self.filesystem, self.root, self.place = filesystem, root.rstrip("/"), place

    @classmethod
    def of(cls, uri: str) -> "RemoteStorage":
        """Return the folder at a URI of pyarrow (s3, gs, hdfs) or fsspec.

        Raises
        ------
        DataError
            If the URI is not understood.
        MissingDependencyError
            If a package for its scheme is not installed.
        """
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
            found = self.filesystem.get_file_info(FileSelector(path, allow_not_found=True))
            return sorted(info.base_name for info in found if info.type == FileType.File)

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
