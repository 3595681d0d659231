"""The command `mase serve`: bind a port, print the address, stop."""

import os
import tempfile
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import click
from click.core import ParameterSource

from mase.cli import Terminated, tell
from mase.cli.options import comma_separated, device, download, threads, trust_remote_code
from mase.document import valid_text
from mase.errors import OptionError

_PORT = 8765


@click.command(short_help="Open a local page to explain texts and look at corpora.")
@click.argument("sources", nargs=-1, metavar="[RUN|FILE.jsonl]...")
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    default=("lstm-imdb",),
    show_default=True,
    help="Model, as of `mase explain`, or a language model; can be repeated.",
)
@click.option(
    "--server",
    "url",
    metavar="URL",
    help="OpenAI-compatible server, such as http://localhost:8000/v1, of the models -m NAME.",
)
@device
@threads
@download
@trust_remote_code
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help=f"Port. [default: {_PORT}, or a free one if it is taken]"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to bind to. Any other than the default opens the server to other machines.",
)
@click.option(
    "--fields",
    callback=comma_separated,
    metavar="NAME,...",
    help="Names of the fields of an input, such as premise,hypothesis.",
)
@click.option("--label-column", metavar="NAME", help="Kept column of the true classes of runs.")
@click.option("--group-column", metavar="NAME", help="Kept column of runs whose values are compared.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
def serve(
    *,
    sources: tuple[str, ...],
    models: tuple[str, ...],
    url: str | None,
    device: str | None,
    threads: int | None,
    download: bool,
    trust_remote_code: bool,
    port: int | None,
    host: str,
    fields: list[str] | None,
    label_column: str | None,
    group_column: str | None,
    no_browser: bool,
) -> None:
    """Open a local page on which one can explain texts, and look at runs of `mase run` and files of results.

    The address is printed on one line. It has a token, so that no other page and no other user of this machine can ask
    the server. Ctrl-C ends it.

    \b
    Examples
      mase serve
      mase serve -m lstm-imdb -m classifier.py:predict_proba
      mase serve -m HuggingFaceTB/SmolLM2-135M-Instruct
      mase serve --server http://localhost:8000/v1 -m my-model
      mase serve run reviews.jsonl --port 8000 --no-browser
    """
    from mase.registry import require

    require("starlette", "serve")
    require("uvicorn", "serve")
    from mase.models.names import check_url, is_url
    from mase.sources.rows import check_fields
    from mase_serve.app import address as address_of
    from mase_serve.app import application, bind, gate_of
    from mase_serve.app import run_server as run_server
    from mase_serve.corpora import Corpora, routes
    from mase_serve.security import is_loopback
    from mase_serve.worker import Open

    for address in filter(is_url, (*models, url or "")):  # before it is shown
        check_url(address)
    unused = [name for name, value in (("label", label_column), ("group", group_column)) if value and not sources]
    if unused:
        raise click.UsageError(f"got --{unused[0]}-column without a run, expected the folder of a run of `mase run`")
    _check_names("model", models)
    boxes = () if fields is None else check_fields(fields)
    _check_names("field", boxes)
    if url is not None:
        _check_server(download=download, device=device, trust_remote_code=trust_remote_code)
    listening = bind(host, port, _PORT)
    number = listening.getsockname()[1]
    gate = gate_of(host, number)
    opened = [Open(name, download, device, trust_remote_code, threads, url) for name in dict.fromkeys(models)]
    if not is_loopback(host):
        _tell_of_exposure(host, number)
    _tell_of_absent(sources)
    click.echo(address_of(host, number, gate.token))
    corpora = Corpora(sources, label_column, group_column)
    folder = tempfile.TemporaryDirectory(prefix="mase-")
    if not no_browser:
        door = _door(Path(folder.name), address_of(host, number, gate.token))
        Thread(target=_open_browser, args=(door, gate.visited), daemon=True).start()
    try:
        app = application(opened, gate, fields=boxes, corpora=corpora.entries, routes=routes(corpora))
        run_server(app, listening)
    except Terminated:
        raise
    except KeyboardInterrupt:  # the way to end a server
        tell("mase: ended")
    finally:
        folder.cleanup()
        corpora.close()


def _door(folder: Path, address: str) -> Path:
    """Return a file that leads to the address: others can read the command line of a browser, but not this folder."""
    door = folder / "workbench.html"
    door.write_text(f'<!doctype html><meta http-equiv=refresh content="0; url={address}">\n', encoding="utf-8")
    return door


def _open_browser(door: Path, visited: Event) -> None:
    webbrowser.open(door.as_uri())
    visited.wait()
    door.unlink(missing_ok=True)


def _tell_of_exposure(host: str, port: int) -> None:
    tell(
        f"mase: --host {host} opens the server to every machine that reaches port {port}. Who has the address with the "
        "token can use the models and read the corpora that were given, and see all texts that pass by: the connection "
        "is not encrypted."
    )


def _tell_of_absent(sources: Iterable[str]) -> None:
    """Tell of runs and files that do not exist; what has a scheme may be elsewhere."""
    for source in sources:
        if "://" not in source and not os.path.exists(source):  # noqa: PTH110 (no error if the name is too long)
            tell(f"mase: there is nothing at {source} yet; its page shows the run once there is")


def _check_names(what: str, names: Iterable[str]) -> None:
    """Check that names can be in a page and in its requests."""
    for name in names:
        if valid_text(name) != name:
            raise OptionError(
                f"the {what} {name!r} has a name that is not valid Unicode, expected one that is; rename it"
            )


def _check_server(**options: Any) -> None:
    """Check that a server is given with names of its models, and without options of models that are loaded."""
    from mase.cli.options import check_unused

    if click.get_current_context().get_parameter_source("models") is ParameterSource.DEFAULT:
        raise click.UsageError("got --server without -m, expected -m NAME, the name of a model there")
    check_unused("a model on a server", "the server", options)
