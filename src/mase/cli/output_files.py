"""Output files of a command, and the policy for files that are not empty: refuse, append or overwrite."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO

import click

from mase.cli.group import tell
from mase.errors import DataError
from mase.files import write_stream, writing
from mase.platforms import can_replace_open_files, lock

__all__ = ["Claim", "Destination", "Policy"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy for files that are not empty. With neither option they are refused.

    Attributes
    ----------
    append
        Whether to resume after the results in the file that is written by line. It holds for no other file.
    overwrite
        Whether to replace a file once the new one is complete, if it is not resumed.
    """

    append: bool = False
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Destination:
    """A file that a command writes.

    Attributes
    ----------
    name
        Its path, as the user typed it.
    policy
        The policy if it is not empty.
    by_line
        Whether it has one line per text, so that a later run can append. Other files are written at the end, at once.
    """

    name: str
    policy: Policy
    by_line: bool

    @property
    def path(self) -> Path:
        """The path with links resolved, so that a link is never replaced."""
        return Path(os.path.realpath(self.name))

    @property
    def draft(self) -> Path:
        """The path of new results until they are complete, if there are older ones."""
        return self.path.with_name(f"{self.path.name}.draft")

    @property
    def is_stream(self) -> bool:
        """Whether it is a pipe or a device, which has no content to lose."""
        return _stat(Path(self.name)) is not None and not self.path.is_file()

    def place(self) -> Path:
        """Return the path to write to: the file itself, or the draft that replaces it at the end."""
        if self.is_stream:
            return Path(self.name)
        if _holds_something(self.draft):
            if self.is_resumed or (self.policy.append and self.policy.overwrite):
                return self.draft
            raise DataError(self._unfinished())
        if self.is_resumed or not _holds_something(self.path):
            return self.path
        if not self.policy.overwrite:
            raise DataError(self._refusal())
        return self.draft

    @property
    def is_resumed(self) -> bool:
        """Whether the run goes on after the results in the file, if there are any."""
        return self.by_line and self.policy.append

    def _unfinished(self) -> str:
        draft = os.fspath(self.draft)
        if self.by_line:
            return f"{draft!r} holds the results of an unfinished run; --append finishes it, or remove that file"
        replace = "add --overwrite to replace it, " if self.policy.append else ""
        return f"{draft!r} is left from an unfinished run; {replace}rename that file to keep it, or remove it"

    def _refusal(self) -> str:
        if self.by_line:
            return (
                f"{self.name!r} is not empty; --append resumes after its results, --overwrite replaces them once all "
                "new ones are complete"
            )
        replace = (
            "--append does not apply to it, add --overwrite to replace it"
            if self.policy.append
            else ("--overwrite replaces it")
        )
        return f"{self.name!r} is not empty; {replace} once the new one is complete, or name another file"

    @contextmanager
    def claimed(self) -> Iterator["Claim"]:
        """Claim the file for this run until the block ends, and remove it then if it is still empty."""
        if self.is_stream:
            yield Claim(self, Path(self.name))
            return
        with self._held():
            with writing(self.name):
                place = self.place()
                if place == self.draft and not _holds_something(place):
                    _begin(place, self.path)
            try:
                yield Claim(self, place)
            finally:
                if place == self.draft and not _holds_something(place):
                    place.unlink(missing_ok=True)

    @contextmanager
    def _held(self) -> Iterator[None]:
        with writing(self.name):
            is_new = not self.path.exists()
            file = self._locked()
        if not can_replace_open_files():  # such systems have no locks to keep either
            file.close()
        try:
            yield
        finally:
            if is_new and not _holds_something(self.path):
                self.path.unlink(missing_ok=True)
            file.close()

    def _locked(self) -> IO[bytes]:
        while True:
            file = self.path.open("ab")
            if not lock(file):
                file.close()
                raise DataError(f"{self.name!r} is being written by another run; wait for it, or name another file")
            if _is_at(file, self.path):
                return file
            file.close()  # another run has just replaced or removed it


@dataclass(frozen=True, slots=True)
class Claim:
    """An output file that this run has claimed; `place` is the path to write to."""

    output: Destination
    place: Path

    @property
    def has_results(self) -> bool:
        """Whether there are results to resume after."""
        return self.output.is_resumed and _holds_something(self.place)

    def finish(self) -> None:
        """Replace the output by its draft, which is now complete."""
        if self.is_draft:
            with writing(self.output.name):
                self.place.chmod(stat.S_IMODE(self.output.path.stat().st_mode))
                self.place.replace(self.output.path)

    def write(self, content: str | bytes, *, complete: bool) -> None:
        """Write the whole content and report the path. Incomplete content replaces nothing."""
        with writing(self.output.name):
            write_stream(self.place, BytesIO(content.encode() if isinstance(content, str) else content))
        if complete:
            self.finish()
        self.report(complete=complete)

    def report(self, *, complete: bool) -> None:
        """Report on standard error what was written."""
        if complete or not self.is_draft:
            tell(f"wrote {click.format_filename(self.output.name)}")
            return
        kept = f"{click.format_filename(self.output.name)} is unchanged"
        resume = "; --append resumes" if self.output.by_line else ""
        tell(f"wrote {click.format_filename(self.place)}; {kept}{resume}")

    @property
    def is_draft(self) -> bool:
        """Whether the results are in a draft that has yet to replace the output."""
        return self.place == self.output.draft and not self.output.is_stream


def _stat(path: Path) -> os.stat_result | None:
    """Return the status of a file, or None if it does not exist or the path is not valid."""
    try:
        return path.stat()
    except OSError:
        return None


def _holds_something(path: Path) -> bool:
    status = _stat(path)
    return status is not None and stat.S_ISREG(status.st_mode) and status.st_size > 0


def _is_at(file: IO[bytes], path: Path) -> bool:
    status = _stat(path)
    return status is not None and os.path.samestat(os.fstat(file.fileno()), status)


def _begin(draft: Path, like: Path) -> None:
    """Create an empty draft with the permissions of the file that it will replace."""
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    draft.chmod(stat.S_IMODE(like.stat().st_mode) | 0o600)
