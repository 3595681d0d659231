"""Checks of the files of a command: `-` is a stream, and no file is written that is also read or written otherwise."""

import os
import stat
import sys
from collections.abc import Hashable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import click

from mase.cli.output_files import Destination
from mase.errors import DataError
from mase.files import check_writable
from mase.outputs import OUTPUTS

__all__ = ["check_files", "check_suffix", "standard_output"]


def standard_output(output: str | None, *, as_json: bool) -> tuple[bool, str | None]:
    """Return whether JSON goes to standard output, and the output file; `--output -` means `--json`."""
    return (True, None) if output == "-" else (as_json, output)


def check_suffix(output: str | None, expected: str) -> None:
    """Check that an output file does not have the suffix of another format; it may have none, as `/dev/fd/3`.

    Raises
    ------
    UsageError
        If it has another suffix than one of the expected format.
    """
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

    Raises
    ------
    UsageError
        If two options name the same file, or a file to write is `-`.
    DataError
        If a file cannot be written.
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
