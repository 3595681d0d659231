"""The option `--input`, which names one file."""

from collections.abc import Callable
from typing import Any

import click

__all__ = ["source"]


def source(text: str, metavar: str = "FILE") -> Callable[[Any], Any]:
    """Return the option with a text of help; a second file is refused, where click would read the last one alone."""
    return click.option("-i", "--input", "source", multiple=True, callback=_only, metavar=metavar, help=text)


def _only(_context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> str | None:
    if len(files) > 1:
        raise click.BadParameter(f"got {len(files)} files, expected one; put their texts into one file")
    return files[0] if files else None
