"""The files that commands write: refused, appended to or overwritten, and whole or not at all."""

import os
import stat
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TextIO

import click

from mase.cli import tell
from mase.errors import DataError
from mase.files import check_writable, write_stream, writing
from mase.outputs import OUTPUTS, form_of
from mase.platforms import can_replace_open_files, lock


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


def standard_output(output: str | None, *, as_json: bool) -> tuple[bool, str | None]:
    """Return whether JSON goes to standard output, and the output file; `--output -` means `--json`."""
    return (True, None) if output == "-" else (as_json, output)


def check_suffix(output: str | None, expected: str) -> None:
    """Check that an output file does not have the suffix of another format; it may have none, as `/dev/fd/3`."""
    suffix = "" if output is None else Path(output).suffix.lower()
    if suffix and not (suffix[1:] in OUTPUTS and OUTPUTS[suffix[1:]] is OUTPUTS[expected[1:]]):
        raise click.UsageError(
            f"got --output {output}, expected a file that ends in {expected}, for JSON; --table writes tables"
        )


def check_files(
    written: Mapping[str, Destination | None], read: Mapping[str, str | None], *, prints: bool = True
) -> None:
    """Check, before any work, that the files can be written, and that none is also read or written twice.

    Files are compared by identity, not by name, because links, standard input and standard output may lead to the same
    file.

    Parameters
    ----------
    written, read
        The files to write, and the paths to read ("-" is standard input), by option; None if not given.
    prints
        Whether results go to standard output as well.
    """
    owners = {_identity(_standard(sys.stdin) if name == "-" else name): option for option, name in read.items() if name}
    outputs: dict[str, str | int | None] = {"standard output": _standard(sys.stdout) if prints else None}
    for option, output in written.items():
        if output is None:
            continue
        if output.name == "-":
            raise click.UsageError(
                f"{option} is '-', expected the path of a file; --json writes JSON to standard output"
            )
        if "\0" in output.name:
            raise DataError(f"cannot write {output.name!r}: no path has a NUL character; choose another path")
        outputs[option] = output.name
        if not output.is_stream:
            outputs[f"the draft of {option}"] = os.fspath(output.draft)
    for option, name in outputs.items():
        identity = _identity(name)
        if identity is not None and identity in owners:
            shown = f", {click.format_filename(name)}" if isinstance(name, str) else ""
            raise click.UsageError(f"{owners[identity]} and {option} are the same file{shown}; name two")
        owners[identity] = option
    for output in written.values():
        if output is not None:
            check_writable(output.name)


def _standard(stream: TextIO | None) -> int | None:
    """Return the descriptor of a standard stream, or None if the caller has closed it."""
    with suppress(OSError, ValueError):
        return None if stream is None else stream.fileno()
    return None


def _identity(file: str | int | None) -> Hashable:
    """Return a key that all names of a file share; None for no file, and for a device, which may be shared."""
    if file is None:
        return None
    try:
        status = os.fstat(file) if isinstance(file, int) else Path(file).stat()
    except (OSError, ValueError):  # it does not exist yet, or the path is not valid
        return os.path.realpath(file) if isinstance(file, str) and "\0" not in file else None
    is_own_file = stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)
    return (status.st_dev, status.st_ino) if is_own_file else None


@dataclass(frozen=True, slots=True)
class Claims:
    """The files that this run has claimed; `others` with their formats."""

    record: Claim | None
    others: tuple[tuple[Claim, str], ...]


@dataclass(frozen=True, slots=True)
class Files:
    """The output files of a command.

    Attributes
    ----------
    by_option
        The files by option, as the user typed it.
    forms
        The format of each file, by option.
    record
        The option whose file has JSON lines and grows with every text, or None.
    """

    by_option: dict[str, Destination]
    forms: dict[str, str]
    record: str | None

    @classmethod
    def of(cls, names: Sequence[str], html: str | None, policy: Policy, *, resumes: bool = True) -> "Files":
        """Return the files of `--output` NAME and `--html` FILE; `resumes` says whether the command can be resumed."""
        from mase.outputs.formats import JsonLines

        typed = {"--output" if len(names) == 1 else f"--output {name}": name for name in names}
        forms = {option: form_of(name) for option, name in typed.items()}
        kinds = {option: OUTPUTS[form] for option, form in forms.items()}
        record = next((option for option, kind in kinds.items() if resumes and kind is JsonLines), None)
        if policy.append and record is None:
            raise click.UsageError("got --append without a file of JSON lines, expected --output FILE.jsonl")
        if html is not None:
            typed, forms = typed | {"--html": html}, forms | {"--html": "html"}
        files = {option: Destination(name, policy, by_line=option == record) for option, name in typed.items()}
        return cls(files, forms, record)

    def claimed(self, context: click.Context) -> Claims:
        """Claim the files for this run until the command ends."""
        claims = {option: context.with_resource(file.claimed()) for option, file in self.by_option.items()}
        others = tuple((claim, self.forms[option]) for option, claim in claims.items() if option != self.record)
        return Claims(None if self.record is None else claims[self.record], others)
