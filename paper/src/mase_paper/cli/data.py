"""`mase data`: the data sets on which the bundled models are trained and tested."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@click.group(short_help="Download data sets, or list them.")
def data() -> None:
    """Download or list the data sets on which the bundled models are trained and tested."""


@data.command("list")
def list_() -> None:
    """List the data sets and their paths on this machine."""
    from mase.errors import DataError, PluginError
    from mase_paper.datasets import DATASETS, find

    width = max(map(len, DATASETS))
    for name in DATASETS:
        try:
            dataset = DATASETS[name]
        except PluginError as error:
            click.echo(f"{name:<{width}}  not available: {error}")
            continue
        try:
            path = click.format_filename(find(dataset, None))
        except DataError:
            path = f"not found; run: mase data get {name}"
        counts = f"{dataset.n_train:,} + {dataset.n_test:,} texts, {dataset.n_labels} classes"
        click.echo(f"{name:<{width}}  {counts}; {path}")


@data.command("get")
@click.argument("name", metavar="NAME")
@click.option("-o", "--output", metavar="DIR", help="Folder for the table. [default: the cache]")
@click.option("--archive", metavar="FILE", help="A local copy of the official archive, to use instead of a download.")
def get_(name: str, output: str | None, archive: str | None) -> None:
    """Download the data set NAME from its official source, check it, and print the path of its table.

    If the table exists, nothing is downloaded.
    """
    from mase_paper.datasets import get

    with _progress() as progress:
        path = get(name, output, archive=archive, progress=progress)
    click.echo(click.format_filename(path))


@contextmanager
def _progress() -> Iterator[Callable[[int, int | None], None]]:
    """Show the received bytes on standard error, if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("downloading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("downloading", total=None, visible=False)
        yield lambda received, total: bar.update(task, completed=received, total=total, visible=True)
