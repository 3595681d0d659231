"""What the commands of a run do, and what they print."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, zip_longest
from math import floor, log10
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from mase.cli import INTERRUPTED, Terminated, aside, complain, tell
from mase.explainer import Explainer
from mase.models.base import Model
from mase.platforms import usable_cores
from mase.render.marks import Scale, inline, model_name
from mase.render.wording import at_least, counted, duration, percent, percent_of_all, share
from mase.sources import open_source
from mase.target import Question
from mase_corpora.effects import GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase_corpora.engines import ENGINES, Resources
from mase_corpora.plan import Plan, Shard, automatic_part_size
from mase_corpora.read import Run, estimate, read_failures
from mase_corpora.running import run
from mase_corpora.schema import schema
from mase_corpora.summary import Summary

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
    asked = {name: options[name] for name in (*_OF_THE_INPUT, *_OF_DOCUMENTS)}
    source = open_source(inputs, reserved=schema("texts").names, **asked)
    shard = Shard() if options["shard"] is None else Shard.parse(options["shard"])
    plan = Plan(len(source), options["part_size"] or automatic_part_size(len(source)), shard)
    jobs = options["jobs"] or (1 if options["engine"] == "here" else usable_cores())
    ENGINES[options["engine"]](Resources(jobs, options["address"], options["gpus_per_worker"]))  # checks them
    with aside():
        other = {*_OF_THE_INPUT, *_OF_THE_RUN}
        explainer = Explainer(model, **{name: value for name, value in options.items() if name not in other})
        result = estimate(source, explainer, question, plan)
    click.echo(f"{counted(result.n_texts, 'text')} in {counted(len(plan.parts), 'part')} of {plan.part_size:,}")
    if result.n_unreadable:
        click.echo(f"{counted(result.n_unreadable, 'text')} missing or not readable, to be recorded as failed")
    click.echo(
        f"{counted(result.n_tried, 'text')} explained for this estimate: {duration(result.seconds)} and "
        f"{result.n_queries:,.0f} evaluations of the model each"
    )
    n = result.n_texts - result.n_unreadable
    took = duration(n * result.seconds / jobs)
    click.echo(f"about {took} with {counted(jobs, 'worker')}, {counted(round(n * result.n_queries), 'evaluation')}")
    click.echo("nothing was written")


_WIDTH = 80

# Columns for two lists side by side.
_ROOM = 70

# More classes, groups and notes than this are in the files only.
_MOST = 6
_WORD, _PHRASE = 16, 20

# Decimals of effects and of their differences, at least, and at most where one of a list is small.
_EFFECTS, _DIFFERENCES, _MOST_DECIMALS = 2, 3, 4
Row = TypeVar("Row")
Key = TypeVar("Key")


def show(summary: Summary, console: Console, *, examples: bool = False) -> None:
    """Print a summary, with examples of each word and phrase in context if they are asked for."""
    console.print(Group(*_parts(summary, examples=examples)), width=min(console.width, _WIDTH))
    console.file.flush()


def _parts(summary: Summary, *, examples: bool) -> Iterator[RenderableType]:
    yield from _facts(summary)
    order = [prediction.prediction for prediction in summary.predictions]
    yield from _effects(summary, order, examples=examples)
    yield from _comparisons(summary)
    yield Text(f"\n{_rule(summary)}", "dim")


def _facts(summary: Summary) -> Iterator[RenderableType]:
    counts = summary.overview
    contrast = "" if counts.against is None else f", each class rather than {inline(counts.against)}"
    yield Text(f"{model_name(counts.model)}, explained with {inline(counts.method)}{contrast}", "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_row(
        "texts",
        f"{counts.n_texts:,}, of which {counts.n_explained:,} explained ({counts.n_distinct:,} different), "
        f"{counts.n_failed:,} failed",
    )
    if counts.n_left:
        whole = counted(counts.n_texts + counts.n_left, "text")
        grid.add_row("not finished", f"{counts.n_texts:,} of {whole}; the run is not finished")
    grid.add_row("evaluations", f"{counts.n_queries:,} for {counted(counts.n_units, 'unit')}")
    for failed in summary.failures[:_MOST]:
        grid.add_row("failed", f"{failed.n_texts:,} × {inline(failed.error)}, as {inline(failed.id)}")
    for prediction in summary.predictions[:_MOST]:
        said = f"{inline(prediction.prediction)}: {percent_of_all(prediction.share)} of the texts"
        if prediction.probability is None:
            grid.add_row("value", said)
        else:
            grid.add_row("predicted", f"{said}, mean probability {percent(prediction.probability)}")
    if counts.accuracy is not None:
        grid.add_row(
            "accuracy", f"{percent_of_all(counts.accuracy)} of {counted(counts.n_labelled, 'text')} with a label"
        )
    if counts.n_other_labels:
        grid.add_row("not judged", f"{counted(counts.n_other_labels, 'text')} with a label that is no class")
    if counts.reliable is not None:
        grid.add_row("reliable", f"{percent_of_all(counts.reliable)} of the explanations")
    for measure in summary.quality:
        spread = f"median {share(measure.median)}, nine of ten at least {at_least(measure.q10):.2f}"
        grid.add_row(inline(measure.name), f"{spread} ({measure.n:,})")
    for note in summary.notes[:_MOST]:
        grid.add_row("note", f"{inline(note.code)} in {percent_of_all(note.share)} of the texts")
    yield grid


def _effects(summary: Summary, order: Sequence[str], *, examples: bool) -> Iterator[RenderableType]:
    """Yield words and phrases of the most frequent classes, those towards it beside those away from it."""
    responses = dict.fromkeys([*order, *(row.response for row in summary.words)])
    for response in list(responses)[:_MOST]:
        words = [row for row in summary.words if row.response == response]
        phrases = [row for row in summary.phrases if row.response == response]
        rows: list[WordEffect | PhraseEffect] = [*words, *phrases]
        scale = _scale((row.effect for row in rows), _EFFECTS)
        if words or phrases:
            yield Text(f"\n{inline(response)}: mean effect ± 95 %, texts", "bold")
        if words:
            yield _Sides("words", words, scale)
        if phrases:
            yield _Sides("phrases", phrases, scale)
        if examples:
            yield from (_examples(row, scale) for row in rows)
    if len(responses) > _MOST:
        yield Text(f"\n{len(responses) - _MOST} more classes: --csv, --parquet and --html list them", "dim")


def _scale(values: Iterable[float], decimals: int) -> Scale:
    """Return the scale of a list, with these decimals or more: two digits of the largest, and none looks like 0."""
    sizes = [abs(value) for value in values if value]
    scale = Scale.of(max(sizes, default=0.0))
    if scale.decimals is None:
        return scale
    wanted = max(scale.decimals - 1, -floor(log10(min(sizes, default=1.0))))
    return replace(scale, decimals=min(max(decimals, wanted), _MOST_DECIMALS))


@dataclass(frozen=True, slots=True)
class _Sides:
    """A table of words or phrases, those towards a class beside those away from it, or below where there is no room."""

    what: str
    rows: Sequence[WordEffect] | Sequence[PhraseEffect]
    scale: Scale

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= _ROOM:
            yield self._table("towards", "away")
        else:
            yield from map(self._table, dict.fromkeys(row.direction for row in self.rows))

    def _table(self, *directions: str) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
        for direction in directions:
            table.add_column(f"{self.what} {direction}", overflow="ellipsis", max_width=_PHRASE, min_width=_WORD)
            table.add_column("effect", justify="right", no_wrap=True)
            table.add_column("texts", justify="right", no_wrap=True)
        sides = ([row for row in self.rows if row.direction == direction] for direction in directions)
        for pair in zip_longest(*sides):
            table.add_row(*(cell for row in pair for cell in _effect(row, self.scale)))
        return table


def _examples(row: WordEffect | PhraseEffect, scale: Scale) -> RenderableType:
    """Return a word or phrase with its share of top fives, and its examples in context, one per line."""
    head = Text.assemble(
        "\n", (inline(_name(row)), "bold"),
        f" ({row.direction} {inline(row.response)}; in the top five of {percent_of_all(row.share_top)} of its texts)",
    )  # fmt: skip
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for example in row.examples:
        before = f"{'…' * example.cut_before}{example.before}"
        context = Text.assemble(
            inline(before), (inline(example.text), "bold"), inline(example.after), "…" * example.cut_after
        )
        grid.add_row(scale.signed(example.score), context)
    return Group(head, grid)


def _name(row: WordEffect | PhraseEffect) -> str:
    return row.word if isinstance(row, WordEffect) else row.phrase


def _effect(row: WordEffect | PhraseEffect | None, scale: Scale) -> tuple[str | Text, ...]:
    if row is None:
        return ("", "", "")
    return Text(inline(_name(row))), _interval(row.effect, row.low, row.high, scale), f"{row.n_texts:,}"


def _interval(value: float, low: float, high: float, scale: Scale) -> str:
    return f"{scale.signed(value)} ± {scale.error((high - low) / 2)}"


def _comparisons(summary: Summary) -> Iterator[RenderableType]:
    yield from _pushes("behind wrong predictions of", "push more towards it when it is wrong", summary.wrong)
    yield from _pushes(
        "behind low-confidence predictions of", "push less towards it when its probability is low",
        summary.low_confidence,
    )  # fmt: skip
    for (response, group), shown in _first(summary.groups, lambda row: (row.response, row.group)):
        column = inline(summary.settings.group_column or "")
        title = f"{inline(response)}: effects that differ in {column} {inline(group)}"
        yield _differences(title, shown, "in the group", "in others")


def _pushes(what: str, meaning: str, rows: Iterable[PushDifference]) -> Iterator[RenderableType]:
    for prediction, shown in _first(rows, lambda row: row.prediction):
        yield _differences(f"{what} {inline(prediction)}: these words {meaning}", shown, "effect", "otherwise")


def _first(rows: Iterable[Row], key: Callable[[Row], Key]) -> Iterator[tuple[Key, list[Row]]]:
    """Yield the first lists of rows that have the same key."""
    for result, shown in islice(groupby(rows, key=key), _MOST):
        yield result, list(shown)


def _differences(
    title: str, rows: Sequence[PushDifference | GroupDifference], here: str, elsewhere: str
) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    table.add_column("word", overflow="ellipsis", max_width=24)
    for name in (here, "texts", elsewhere, "texts", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    scale = _scale((row.difference for row in rows), _DIFFERENCES)
    for row in rows:
        table.add_row(
            Text(inline(row.word)), scale.signed(row.effect), f"{row.n_texts:,}", scale.signed(row.effect_others),
            f"{row.n_others:,}", _interval(row.difference, row.low, row.high, scale),
        )  # fmt: skip
    return Group(Text(f"\n{title}", "bold"), table)


def _rule(summary: Summary) -> str:
    """Return what the lists hold, and what they leave out."""
    asked = summary.settings
    tests = ", ".join(
        f"{family.n_found:,} of {family.n_tested:,} {inline(family.table.replace('_', '-'))}"
        for family in summary.families
        if family.n_tested
    )
    return (
        f"Words are merged by case and common words are kept. Tested are those in at least {asked.min_texts} texts; "
        f"listed are the {asked.top} strongest that differ from 0 and from the average word of the same texts, at a "
        f"false discovery rate of {100 * asked.false_discovery_rate:g} %. Passed: {tests or 'none were tested'}."
    )
