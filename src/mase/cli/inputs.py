"""The texts and contexts that commands read."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, Unpack

import click

from mase.document import Document, Scalar
from mase.errors import DataError, EmptyTextError, MaseError
from mase.files import cannot_read, file_state, while_unchanged
from mase.sources.files import Line, check_ending, decode_lines, is_table, open_unpacked, read_lines
from mase.sources.labelled import iter_labelled
from mase.sources.rows import DocumentColumns


class ColumnOptions(TypedDict, total=False):
    """Options that say which columns of a table are explained, and how fields of documents are masked."""

    text_column: str | None
    fields: Sequence[str] | None
    fixed: Collection[str]
    background: Mapping[str, Scalar] | None


def check_columns(source: str | None, columns: ColumnOptions) -> None:
    """Check that columns are those of a table, and that options of fields come with fields."""
    given = [f"--{name.replace('_', '-')}" for name, value in columns.items() if value not in (None, [])]
    given += ["--fields"] if columns.get("fields") == [] else []
    if given and not (source and is_table(source)):
        raise click.UsageError(
            f"got {given[0]} without a table, expected --input with a .csv, .tsv, .jsonl or .parquet FILE"
        )
    if given and "--fields" not in given and given[0] != "--text-column":
        raise click.UsageError(
            f"got {given[0]} without --fields, expected --fields NAME,... with the columns to explain"
        )
    if {"--fields", "--text-column"} <= set(given):
        raise click.UsageError("got --text-column and --fields, expected one of the two")


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a command; `total` is None for a stream, and `kind` is what numbers count, such as "line"."""

    lines: Iterator[Line]
    total: int | None
    kind: str


def read_texts(arguments: tuple[str, ...], source: str | None, **columns: Unpack[ColumnOptions]) -> Texts:
    """Return the texts given as arguments, in the file `source`, or on standard input ("-", or if nothing is given).

    With fields, each argument and each line of standard input is a JSON object.

    A file with the suffix of a table is read as a table with the texts or documents in these columns. A compressed file
    (.gz, .bz2, .xz) is decompressed as it is read. A file with the suffix or the first bytes of an archive or a
    document is refused.
    """
    if arguments and source is not None:
        raise click.UsageError("got TEXT and --input, expected one of the two")
    objects = partial(_objects, columns) if columns.get("fields") and source in (None, "-") else None
    if objects is None:
        check_columns(source, columns)
    if arguments:
        given = (Line(number, text) for number, text in enumerate(arguments, 1))
        return Texts(given if objects is None else objects(given), len(arguments), "text")
    if source == "":
        raise click.UsageError("got an empty file name, expected --input FILE; is a variable of your shell not set?")
    if source is not None and source != "-":
        return _file(source, columns)
    if sys.stdin is None or (source is None and sys.stdin.isatty()):
        raise click.UsageError('got no text, expected TEXT, --input FILE or a pipe, as in: mase explain "What a film!"')
    lines = _not_empty(decode_lines(sys.stdin.buffer, "standard input"), "standard input")
    return Texts(lines if objects is None else objects(lines), None, "line")


def _objects(columns: ColumnOptions, lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines of JSON objects as the documents of their fields."""
    wanted = DocumentColumns.of(**columns)
    for line in lines:
        content = line.error or _read_inputs(wanted, str(line.text))
        if isinstance(content, MaseError):
            yield Line(line.number, line.text, content)
        else:
            yield Line(line.number, content)


def _read_inputs(columns: DocumentColumns, text: str) -> str | Document | MaseError:
    """Return the document of a JSON object, or the error if it is none."""
    try:
        result = json.loads(text, object_pairs_hook=_unique)
    except DataError as error:
        return error
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        return DataError(f"text is {text[:40]!r}, expected a JSON object of the fields, because of --fields")
    return columns.read(result)


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or raise a DataError if it has a field twice, of which the last would silently count."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise DataError(f"text has the fields {', '.join(names)!s:.100}, expected each once")
    return result


def _file(name: str, columns: ColumnOptions) -> Texts:
    check_ending(Path(name))
    if is_table(name):
        return _counted(name, "row", lambda: _rows(name, columns))
    return _counted(name, "line", lambda: _not_empty(read_lines(Path(name)), repr(name)))


def _counted(name: str, kind: str, read: Callable[[], Iterator[Line]]) -> Texts:
    """Return the texts of a file, which is read twice: first to count them. Texts of a pipe are not counted.

    A file that changes after that is an error when the next of its texts is read.
    """
    path = Path(name)
    if path.is_dir():
        raise DataError(f"cannot read {name!r}: it is a folder, expected a file with one text per line, or a table")
    state = file_state(name)
    if not path.is_file():
        return Texts(read(), None, kind)
    changed = "since it was first read, so that texts may be lost or doubled; give the command again"
    return Texts(while_unchanged(name, state, read(), changed), sum(1 for _ in read()), kind)


def _rows(name: str, columns: ColumnOptions) -> Iterator[Line]:
    return (Line(row.row, row.text, row.error) for row in iter_labelled(name, label_column=None, **columns))


def _not_empty(lines: Iterator[Line], name: str) -> Iterator[Line]:
    empty = True
    for line in lines:
        empty = False
        yield line
    if empty:
        raise EmptyTextError(f"{name} has no text, expected one per line; or give TEXT, or --input FILE")


STANDARD_INPUT = "standard input"

# Names of other fields of a prompt.
_TAKEN = ("query", "answer")


def read_context(files: Sequence[str]) -> dict[str, str]:
    """Return the contents of files by their names; "-" is standard input.

    A file whose name ends in .gz, .bz2 or .xz is decompressed. Blank lines at the end of a file are no part of it.
    """
    texts = [_standard_input() if file == "-" else _read_contexts(file) for file in files]
    return dict(zip(names_of(files), texts, strict=True))


def names_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: that of the file, with its folders where two files, or another field, have the same.

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


def _read_contexts(name: str) -> str:
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
