"""`mase doctor`: what a model was taken for."""

import json
from typing import TYPE_CHECKING, Any

import click

from mase.cli.options import device, download, model, of_documents, server, text_column, threads, trust_remote_code
from mase.cli.source import source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mase.datasets.texts import Line
    from mase.doctor.check import Check
    from mase.doctor.language import LanguageCheck
    from mase.document import Input

__all__ = ["doctor"]

_WIDTH = 100


@click.command(short_help="Say what a model was taken for, and what to pass where it was guessed.")
@model
@server
@click.option("--text", metavar="TEXT", help="Text to ask about. [default: two texts in English]")
@source("Ask about the first text or row of a file instead.")
@text_column
@of_documents
@device
@threads
@download
@trust_remote_code
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(
    *,
    model: str,
    server: str | None,
    text: str | None,
    source: str | None,
    text_column: str | None,
    fields: list[str] | None,
    fixed: list[str],
    background: dict[str, Any] | None,
    device: str | None,
    threads: int | None,
    download: bool,
    trust_remote_code: bool,
    as_json: bool,
) -> None:
    """Say what a model was taken for: its kind, classes, output, cut-off, inputs, speed, and default settings.

    The model is asked a few questions. What nobody said about it and had to be guessed is listed with what to pass to
    say it.

    \b
    Examples
      mase doctor -m bert-imdb
      mase doctor -m classifier.py:predict_proba --text "Not bad at all."
      mase doctor -m judge.py:predict_proba -i pairs.csv --fields premise,hypothesis
      mase doctor --server http://localhost:8000 -m my-model
    """
    from mase.cli.code import open_model
    from mase.cli.explanation_run import open_console
    from mase.cli.inputs import ColumnOptions, check_columns, read_texts
    from mase.cli.streams import aside
    from mase.doctor.checking import check
    from mase.models.runtime import configure

    columns = ColumnOptions(text_column=text_column, fields=fields, fixed=fixed, background=background)
    check_columns(source, columns)
    if text is not None and source is not None:
        raise click.UsageError("got --text and --input, expected one of the two")
    example: Input | None = text
    if source is not None:
        example = _first(read_texts((), source, **columns).lines)
    with aside():
        loaded = open_model(model, server, download=download, device=device, trust_remote_code=trust_remote_code)
        configure(threads)
        found = check(loaded, text=example, fixed=fixed, background=background)
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        open_console().print(*_parts(found), width=_WIDTH)


def _first(lines: "Iterable[Line]") -> "Input":
    """Return the first text that can be read; if there is none, the error of the first line is raised."""
    errors = []
    for line in lines:
        if line.error is None:
            return line.text
        errors.append(line.error)
    raise errors[0]


def _parts(found: "Check | LanguageCheck") -> tuple[object, ...]:
    """Return the lines of a check as a table without borders, in which long lines are broken."""
    from rich.table import Table
    from rich.text import Text

    from mase.render.pieces import inline

    grid = Table.grid(padding=(0, 2))
    for heading, line in found.facts.items():
        grid.add_row(Text(heading, "dim"), Text(line))
    for guess in found.guesses:
        grid.add_row(Text("guessed", "yellow"), Text(inline(f"{guess.what}: {guess.remedy}")))
    return Text(inline(found.name), "bold"), grid
