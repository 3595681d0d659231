"""The files that a command is given: `-` is a stream, and no file is written that is also read or written elsewhere."""

from collections.abc import Mapping
from pathlib import Path

import click

from mase.files import check_writable

__all__ = ["check_files", "standard_output"]


def standard_output(output: str | None, *, as_json: bool) -> tuple[bool, str | None]:
    """Return whether JSON goes to standard output, and the file that it goes to: `--output -` is `--json`."""
    return (True, None) if output == "-" else (as_json, output)


def check_files(written: Mapping[str, str | None], read: Mapping[str, str | None]) -> None:
    """Make sure, before any work, that the files can be written, and that none is written twice, or read as well.

    Parameters
    ----------
    written, read
        The path by option, None where the option is not given.

    Raises
    ------
    UsageError
        If two options name one file, or a file to write is called `-`.
    DataError
        If a file cannot be written.
    """
    owners = {Path(name).resolve(): option for option, name in read.items() if name not in (None, "-")}
    for option, name in written.items():
        if name is None:
            continue
        if name == "-":
            raise click.UsageError(f"{option} is '-', expected the path of a file; --json writes JSON to standard output")
        path = Path(name).resolve()
        if path in owners:
            raise click.UsageError(f"{owners[path]} and {option} are the same file, {click.format_filename(path)}; name two")
        owners[path] = option
        check_writable(name)
