"""The context of a citation: each file, or standard input, is a text with a name."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import click

from mase.datasets.texts import decode_lines
from mase.datasets.unpacked import open_unpacked
from mase.errors import DataError, EmptyTextError, MaseError
from mase.files import cannot_read

__all__ = ["STANDARD_INPUT", "names_of", "read_context"]

STANDARD_INPUT = "standard input"
# Names of other fields of a prompt.
_TAKEN = ("query", "answer")


def read_context(files: Sequence[str]) -> dict[str, str]:
    """Return the contents of files by their names; "-" is standard input.

    A file whose name ends in .gz, .bz2 or .xz is decompressed. Blank lines at the end of a file are no part of it.

    Raises
    ------
    UsageError
        If a file is named twice, or standard input is a terminal.
    DataError
        If a file cannot be read, or is no text in UTF-8.
    EmptyTextError
        If it has no text.
    """
    texts = [_standard_input() if file == "-" else _read(file) for file in files]
    return dict(zip(names_of(files), texts, strict=True))


def names_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: that of the file, with its folders where two files, or another field, have the same.

    Raises
    ------
    UsageError
        If a file is named twice.

    Examples
    --------
    >>> names_of(["a/notes.txt", "b/notes.txt", "b/plan.txt", "-"])
    ['a/notes.txt', 'b/notes.txt', 'plan.txt', 'standard input']
    """
    if "" in files:
        raise click.UsageError(
            "got an empty file name, expected --context FILE...; is a variable of your shell not set?"
        )
    # Bytes of a name that are no UTF-8 are shown as U+FFFD: a name is a text of the prompt.
    shown = [click.format_filename(os.path.abspath(file)) for file in files]  # noqa: PTH100 (links stay)
    paths = [None if file == "-" else Path(path) for file, path in zip(files, shown, strict=True)]
    twice = next((file for i, file in enumerate(files) if paths[i] in paths[:i]), None)
    if twice is not None:
        raise click.UsageError(f"got --context {twice} twice, expected each file once")
    return [STANDARD_INPUT if path is None else _name(path, paths) for path in paths]


def _name(path: Path, paths: Sequence[Path | None]) -> str:
    """Return the shortest end of a path that no other path and no other field has."""
    ends = [other.parts for other in paths if other is not None and other != path]
    for n in range(1, len(path.parts)):
        name = "/".join(path.parts[-n:])
        if name not in _TAKEN and all(other[-n:] != path.parts[-n:] for other in ends):
            return name
    return str(path)


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("got --context -, expected text from a pipe or a file on standard input")
    return _text(sys.stdin.buffer, STANDARD_INPUT)


def _read(name: str) -> str:
    try:
        if Path(name).is_dir():
            raise DataError(f"cannot read {name!r}: it is a folder, expected files of texts, as in {name}/*.txt")
        with open_unpacked(Path(name)) as file:
            return _text(file, repr(name))
    except MaseError:
        raise
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise cannot_read(name, error) from error


def _text(stream: BinaryIO, name: str) -> str:
    """Return the whole text of a stream."""
    lines = []
    for line in decode_lines(stream, name):
        if line.error is not None:
            raise line.error
        lines.append(str(line.text))
    text = "\n".join(lines)
    if "\0" in text:
        raise DataError(f"{name} has NUL characters, expected a text in UTF-8")
    if not text.strip():
        raise EmptyTextError(f"{name} has no text, expected some to find the answer in")
    return text
