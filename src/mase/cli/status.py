"""`mase status`: how far a run is, from any terminal or machine that sees its folder."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from mase.corpus.manifest import Asked
    from mase.corpus.status import Driver, Status

__all__ = ["status"]

_SCHEMA = "mase.status/1"
_MOST_NAMES = 3  # of files in the line of settings


@click.command(short_help="Say how far a run is.")
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(run: str, *, as_json: bool) -> None:
    """Say how far the run in the folder RUN is, how long it still takes and who works on it.

    It only reads, and may be called while the run is under way, from any machine that sees the folder.
    """
    from mase.lazy import require

    require("pyarrow", "corpora")
    from mase.corpus.status import read_status
    from mase.render.pieces import inline

    found = read_status(run)
    if as_json:
        click.echo(json.dumps(_plain(found)))
    else:
        click.echo("\n".join(map(inline, _lines(found))))


def _plain(found: "Status") -> dict[str, Any]:
    import msgspec

    return {
        "schema": _SCHEMA,
        "n_texts": found.n_texts,
        "n_texts_done": found.n_texts_done,
        "n_parts": found.n_parts,
        "n_parts_done": found.n_parts_done,
        "n_failed": found.n_failed,
        "is_complete": found.is_complete,
        "texts_per_second": found.texts_per_second,
        "seconds_left": found.seconds_left,
        "drivers": [asdict(driver) for driver in found.drivers],
        "run": msgspec.to_builtins(found.manifest),
    }


def _lines(found: "Status") -> Iterator[str]:
    from mase.render.numbers import counted, duration

    share = 100 * found.n_texts_done // max(1, found.n_texts)
    yield (
        f"{found.n_texts_done:,} of {counted(found.n_texts, 'text')} ({share} %), "
        f"{found.n_parts_done:,} of {counted(found.n_parts, 'part')}, {found.n_failed:,} failed"
    )
    speed = "" if found.texts_per_second is None else f"{found.texts_per_second:.3g} texts per second"
    left = "" if found.seconds_left is None else f"{duration(found.seconds_left)} left"
    if speed or left:
        yield ", ".join(filter(None, (speed, left)))
    yield from map(_driver, found.drivers)
    if not any(driver.is_alive for driver in found.drivers):
        yield "complete" if found.is_complete else "nobody works on it: the same command continues it"
    yield _settings(found.manifest.asked)


def _driver(driver: "Driver") -> str:
    shard = "" if driver.shard == "1/1" else f", shard {driver.shard}"
    state = "at work" if driver.is_alive else "ended before it had finished"
    return f"process {driver.pid} on {driver.host}{shard}: {state}"


def _settings(asked: "Asked") -> str:
    """Return what was asked, in one line."""
    method, tables = asked.method, asked.input.get("tables")
    files = [table for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    names = [str(file["name"]) for file in files if "name" in file]
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    parts = {
        "model": asked.model.get("name"),
        "method": method.get("name"),
        "samples": method.get("n_samples"),
        "link": method.get("link"),
        "target": "predicted class"
        if asked.target is None
        else ", ".join(map(str, asked.target))
        if isinstance(asked.target, list)
        else asked.target,
        "rather than": asked.against,
        "seed": asked.seed,
        "input": f"{', '.join(names[:_MOST_NAMES])}{more}" or "texts of Python",
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)
