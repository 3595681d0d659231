"""The work of `mase run`: explain a corpus and list its failures, or say what that will take."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from mase.cli.group import INTERRUPTED, Terminated, complain, tell
from mase.cli.streams import aside
from mase.corpus.engines import ENGINES
from mase.corpus.engines.protocol import Resources
from mase.corpus.estimate import estimate
from mase.corpus.failures import read_failures
from mase.corpus.inputs import open_source
from mase.corpus.opened import Run
from mase.corpus.plan import Plan, Shard, automatic_part_size
from mase.corpus.running import run
from mase.explainer import Explainer
from mase.models.protocol import Model
from mase.platforms import usable_cores
from mase.render.numbers import counted, duration
from mase.target import Question

__all__ = ["explain_corpus", "report_estimate", "report_failures", "sources"]

_MOST_LISTED = 20
_OF_THE_INPUT = ("text_column", "fields", "id_column", "keep", "where", "limit")
_OF_DOCUMENTS = ("fixed", "background")  # of the input and of the explainer
_OF_THE_RUN = (
    "jobs", "shard", "engine", "address", "gpus_per_worker", "part_size", "timeout", "fresh", "retry_failed",
    "allow_other_versions",
)  # fmt: skip


def sources(inputs: Sequence[str], output: str | None) -> list[Path]:
    """Return the paths of the inputs."""
    if "" in inputs:
        raise click.UsageError("got an empty file name, expected INPUT...; is a variable of your shell not set?")
    if output == "":
        raise click.UsageError("got an empty --output, expected --output RUN; is a variable of your shell not set?")
    paths = list(map(Path, inputs))
    for path in paths if output is not None and "://" not in output else ():
        if path.is_dir() and Path(output or "").resolve().is_relative_to(path.resolve()):
            raise click.UsageError(
                f"the folder --output {output!r} is in the input {str(path)!r}, and would be read as a part of it; "
                "expected another place"
            )
    return paths


def explain_corpus(inputs: Sequence[Path], output: str, model: Model, options: Mapping[str, Any]) -> None:
    """Explain a corpus, list the texts that failed, and exit with 1 if there are any."""
    try:
        with aside():
            made = run(inputs, output, model=model, **options)
    except Terminated:
        raise
    except KeyboardInterrupt:
        tell(f"interrupted; what is finished is kept. To continue: {shlex.join(['mase', *sys.argv[1:]])}")
        click.get_current_context().exit(INTERRUPTED)
    shard = Shard() if options["shard"] is None else Shard.parse(options["shard"])
    tell(f"{made.folder.place}: {len(made.parts):,} of {counted(made.plan.n_parts, 'part')} finished")
    if report_failures(made, shard):
        click.get_current_context().exit(1)


def report_failures(made: Run, shard: Shard) -> int:
    """List the first texts of a shard that failed, and return how many there are."""
    plan = Plan(len(made), made.manifest.asked.part_size, shard)
    parts = [part for part in made.parts if part in set(plan.parts)]
    n = sum(made.n_failed(part) for part in parts)
    for failure in islice(read_failures(made.folder, parts if n else ()), _MOST_LISTED):
        complain(f"text {failure.row + 1:,}, id {failure.id!r:.80}: {failure.error}: {failure.message:.300}")
    if n > _MOST_LISTED:
        complain(
            f"{n - _MOST_LISTED:,} more texts failed, {n:,} in all; DuckDB lists them: "
            f"SELECT id, row, error, message FROM '{made.folder.place}/texts/*.parquet' WHERE error IS NOT NULL"
        )
    return n


def report_estimate(inputs: Sequence[Path], model: Model, question: Question, options: Mapping[str, Any]) -> None:
    """Print what a run will take, after a few texts were explained. Nothing is written."""
    source = open_source(inputs, **{name: options[name] for name in (*_OF_THE_INPUT, *_OF_DOCUMENTS)})
    shard = Shard() if options["shard"] is None else Shard.parse(options["shard"])
    plan = Plan(len(source), options["part_size"] or automatic_part_size(len(source)), shard)
    jobs = options["jobs"] or (1 if options["engine"] == "here" else usable_cores())
    ENGINES[options["engine"]](Resources(jobs, options["address"], options["gpus_per_worker"]))  # checks them
    with aside():
        other = {*_OF_THE_INPUT, *_OF_THE_RUN}
        explainer = Explainer(model, **{name: value for name, value in options.items() if name not in other})
        found = estimate(source, explainer, question, plan)
    click.echo(f"{counted(found.n_texts, 'text')} in {counted(len(plan.parts), 'part')} of {plan.part_size:,}")
    if found.n_unreadable:
        click.echo(f"{counted(found.n_unreadable, 'text')} missing or not readable, to be recorded as failed")
    click.echo(
        f"{counted(found.n_tried, 'text')} explained for this estimate: {duration(found.seconds)} and "
        f"{found.n_queries:,.0f} evaluations of the model each"
    )
    n = found.n_texts - found.n_unreadable
    took = duration(n * found.seconds / jobs)
    click.echo(f"about {took} with {counted(jobs, 'worker')}, {counted(round(n * found.n_queries), 'evaluation')}")
    click.echo("nothing was written")
