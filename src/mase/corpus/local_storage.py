"""Folders on this machine."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.files import cannot_read, cannot_write
from mase.platforms import flush_folder, locked

__all__ = ["LocalStorage"]


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
