"""Options that name one file or folder."""

from collections.abc import Callable
from typing import Any

import click

__all__ = ["one_file", "source"]


def source(text: str, metavar: str = "FILE") -> Callable[[Any], Any]:
    """Return the option `--input` with a text of help."""
    return one_file("-i", "--input", "source", metavar=metavar, text=text, remedy="; put their texts into one file")


def one_file(*names: str, text: str, metavar: str = "FILE", remedy: str = "", check: Any = str) -> Callable[[Any], Any]:
    """Return an option for one file, with a text of help; `check` is a type of click for each of them.

    A second file is refused. Click would take the last one alone, and nobody would hear of the others.
    """

    def only(_context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> str | None:
        if len(files) > 1:
            raise click.BadParameter(f"got {len(files)} files, expected one{remedy}")
        return files[0] if files else None

    return click.option(*names, multiple=True, callback=only, metavar=metavar, type=check, help=text)
