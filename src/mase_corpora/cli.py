"""The commands `mase run`, `mase status`, `mase summary` and `mase compare`."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mase.cli.options import (
    against,
    comma_separated,
    device,
    download,
    evidence,
    explainer_options,
    how,
    max_new_tokens,
    model,
    of_documents,
    one_file,
    options,
    server,
    target,
    text_column,
    trust_remote_code,
    where,
)
from mase_corpora.engines import ENGINES

if TYPE_CHECKING:
    from mase_corpora.plan import Asked
    from mase_corpora.read import Driver, Status


_which_texts = options(
    text_column,
    of_documents,
    click.option("--id-column", metavar="NAME", help="Column of unique ids. [default: number the texts from 0]"),
    click.option(
        "--keep", callback=comma_separated, metavar="COLUMN,...",
        help="Columns to keep beside the texts, such as labels; group=cohort gives one another name.",
    ),
    where,
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Read only the first N texts."),
)  # fmt: skip

_where = options(
    click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Worker processes. [default: one per processor]"
    ),
    click.option("--shard", metavar="I/N", help="Explain only share I of N; the copies of all shares make the run."),
    click.option(
        "--engine", type=click.Choice(ENGINES.names), default="local", show_default=True,
        help="Where workers run: processes of this machine, this process, or a Ray cluster.",
    ),
    click.option("--address", metavar="HOST:PORT", help="Address of Ray. [default: RAY_ADDRESS, or a new cluster]"),
    click.option(
        "--gpus-per-worker", type=click.FloatRange(min=0), metavar="G", help="GPUs of a Ray worker, as in 1 or 0.25."
    ),
    click.option(
        "--part-size", type=click.IntRange(min=1), metavar="N",
        help="Texts per part, which are written together. [default: from 32 on, by the number of texts]",
    ),
    click.option(
        "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S",
        help="Seconds after which a text is given up and recorded as failed.",
    ),
)  # fmt: skip


@click.command(short_help="Explain a corpus, on all processors or a cluster.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@one_file("-o", "--output", metavar="RUN", text="Folder of the run, or a URI such as s3://bucket/folder.")
@_which_texts
@model
@server
@max_new_tokens
@target
@against
@how
@evidence(default=0)
@device
@download
@trust_remote_code
@_where
@click.option("--dry-run", is_flag=True, help="Read the input, explain a few texts, say how long all take, and stop.")
@click.option("--fresh", is_flag=True, help="Begin another run beside an existing one, in RUN-2, RUN-3 and so on.")
@click.option(
    "--retry-failed", is_flag=True,
    help="Explain the texts again that failed in finished parts of an existing run; the others are kept.",
)  # fmt: skip
@click.option(
    "--allow-other-versions", is_flag=True, help="Continue a run that other versions or another processor began."
)
@click.option("--no-texts", is_flag=True, help="Do not store the texts in the run, only scores and words.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def run(
    *,
    inputs: tuple[str, ...],
    output: str | None,
    model: str,
    server: str | None,
    max_new_tokens: int | None,
    target: str | None,
    against: str | None,
    device: str | None,
    download: bool,
    trust_remote_code: bool,
    dry_run: bool,
    no_texts: bool,
    quiet: bool,
    **more: Any,
) -> None:
    """Explain every text of the INPUTs and write scores, words and responses as Parquet files into the folder RUN.

    INPUT is a table (.csv, .tsv, .jsonl, .parquet, also packed as in .csv.gz), a file with one text per line, or a
    folder of such files. The same command again continues a run that was interrupted: finished parts are not computed
    again. `mase status RUN` shows how far it is.

    A text that cannot be explained is recorded in the run with the reason, and the exit code is 1.

    \b
    Examples
      mase run reviews.csv -o run --id-column id --keep label,group=cohort --jobs 8
      mase run reviews.csv -o run --dry-run
      mase run pairs.parquet -o run --fields premise,hypothesis --fixed premise -m judge.py:predict_proba
      mase run prompts.csv -o run --fields context,query --fixed query --server http://localhost:8000 -m my-model
      mase run reviews/ -o /shared/run --shard $SLURM_ARRAY_TASK_ID/16
      mase run reviews.parquet -o s3://bucket/run --engine ray --gpus-per-worker 0.25
    """
    if output is None and not dry_run:
        raise click.UsageError("got no --output, expected --output RUN, the folder to write; or --dry-run")
    from mase.registry import require

    require("pyarrow", "corpora")
    from mase.cli import aside
    from mase.cli.options import open_model, set_longest_answer
    from mase.target import Question, listed
    from mase_corpora.terminal import explain_corpus, report_estimate, sources

    more = explainer_options(more)
    paths = sources(inputs, output)
    with aside():
        loaded = open_model(model, server, download=download, device=device, trust_remote_code=trust_remote_code)
        set_longest_answer(loaded, max_new_tokens)
        # A function of records that has no labels cannot be asked for their number yet.
        classes = listed(target, loaded.labels if "," in (target or "") else ())
    if dry_run or output is None:
        report_estimate(paths, loaded, Question(classes, against), more)
    else:
        more |= {"target": classes, "against": against, "keep_texts": not no_texts, "show_progress": not quiet}
        explain_corpus(paths, output, loaded, more)


_SCHEMA = "mase.status/1"
_MOST_NAMES = 3  # of files in the line of settings


@click.command(short_help="Say how far a run is.")
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(run: str, *, as_json: bool) -> None:
    """Say how far the run in the folder RUN is, how long it still takes and who works on it.

    It only reads, and may be called while the run is under way, from any machine that sees the folder.
    """
    from mase.registry import require

    require("pyarrow", "corpora")
    from mase.render.marks import inline
    from mase_corpora.read import read_status

    result = read_status(run)
    if as_json:
        click.echo(json.dumps(_plain(result)))
    else:
        click.echo("\n".join(map(inline, _lines(result))))


def _plain(result: "Status") -> dict[str, Any]:
    import msgspec

    return {
        "schema": _SCHEMA,
        "n_texts": result.n_texts,
        "n_texts_done": result.n_texts_done,
        "n_parts": result.n_parts,
        "n_parts_done": result.n_parts_done,
        "n_failed": result.n_failed,
        "is_complete": result.is_complete,
        "texts_per_second": result.texts_per_second,
        "seconds_left": result.seconds_left,
        "drivers": [asdict(driver) for driver in result.drivers],
        "run": msgspec.to_builtins(result.manifest),
    }


def _lines(result: "Status") -> Iterator[str]:
    from mase.render.wording import counted, duration

    share = 100 * result.n_texts_done // max(1, result.n_texts)
    yield (
        f"{result.n_texts_done:,} of {counted(result.n_texts, 'text')} ({share} %), "
        f"{result.n_parts_done:,} of {counted(result.n_parts, 'part')}, {result.n_failed:,} failed"
    )
    speed = "" if result.texts_per_second is None else f"{result.texts_per_second:.3g} texts per second"
    left = "" if result.seconds_left is None else f"{duration(result.seconds_left)} left"
    if speed or left:
        yield ", ".join(filter(None, (speed, left)))
    yield from map(_driver, result.drivers)
    if not any(driver.is_alive for driver in result.drivers):
        yield "complete" if result.is_complete else "nobody works on it: the same command continues it"
    yield _settings(result.manifest.asked)


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


_folder = click.Path(file_okay=False)


@click.command(short_help="Show what the explanations of a run say together.")
@click.argument("run", metavar="RUN")
@click.option("--label-column", metavar="NAME", help="Kept column of the true classes, for the wrong predictions.")
@click.option("--group-column", metavar="NAME", help="Kept column whose values are compared.")
@click.option(
    "--min-texts",
    type=click.IntRange(min=2),
    default=20,
    show_default=True,
    help="Leave out words and phrases in fewer texts.",
)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Longest list.")
@click.option("--examples", is_flag=True, help="Also show three examples of each word in context.")
@one_file("--csv", "csv_folder", check=_folder, metavar="FOLDER", text="Also write each table as CSV.")
@one_file("--parquet", "parquet_folder", check=_folder, metavar="FOLDER", text="Also write each table as Parquet.")
@one_file("--html", "html_folder", check=_folder, metavar="FOLDER", text="Also write a report for a browser.")
def summary(
    *,
    run: str,
    label_column: str | None,
    group_column: str | None,
    min_texts: int,
    top: int,
    examples: bool,
    csv_folder: str | None,
    parquet_folder: str | None,
    html_folder: str | None,
) -> None:
    """Show what the explanations in the folder RUN say together.

    For each class: the words and two-word phrases that push towards it and away from it. With a label column: the words
    behind wrong predictions. With a group column: the words whose effect differs between its values. And how far the
    scores can be trusted.

    \b
    Examples
      mase summary reviews
      mase summary reviews --label-column label --group-column country --html report
    """
    from mase.registry import require

    for package in ("pyarrow", "duckdb"):
        require(package, "corpora")
    from mase.cli import tell
    from mase.cli.explaining import open_console
    from mase_corpora.database import Form, check_free, write_tables
    from mase_corpora.report import check_free as check_report
    from mase_corpora.summary import ROWS, summarise
    from mase_corpora.terminal import show

    if html_folder is not None:
        check_report(html_folder)
    forms: tuple[tuple[Form, str | None], ...] = (("csv", csv_folder), ("parquet", parquet_folder))
    folders = [(form, folder) for form, folder in forms if folder is not None]
    for form, folder in folders:
        check_free(folder, ROWS, form)
    result = summarise(run, label_column=label_column, group_column=group_column, min_texts=min_texts, top=top)
    show(result, open_console(), examples=examples)
    if html_folder is not None:  # first, because its folder must be empty, and the tables may go into it
        tell(f"wrote {click.format_filename(result.to_html(html_folder))}")
    for form, folder in folders:
        write_tables(folder, result.tables, form)
        tell(f"wrote the tables to {click.format_filename(folder)}")


# The exit code if a limit is exceeded.
EXCEEDED = 3
_SHARE = click.FloatRange(0, 1)

_limits = options(
    click.option(
        "--max-flipped", type=_SHARE, metavar="SHARE",
        help="Exit with 3 if a greater share of texts has another prediction.",
    ),
    click.option(
        "--max-reasons-changed", type=_SHARE, metavar="SHARE",
        help="Exit with 3 if the reasons of a greater share of texts differ beyond sampling noise.",
    ),
    click.option(
        "--min-top-overlap", type=_SHARE, metavar="SHARE",
        help="Exit with 3 if the runs have a smaller share of the top five words in common.",
    ),
)  # fmt: skip


@click.command(short_help="Compare two runs over the same texts.")
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("--common-only", is_flag=True, help="Compare the texts in both runs, even if others are in one only.")
@click.option(
    "--min-texts", type=click.IntRange(min=2), default=20, show_default=True, metavar="N",
    help="Test the mean score of words that occur in at least N texts.",
)  # fmt: skip
@click.option(
    "--rate", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
    help="False discovery rate of the tests.",
)  # fmt: skip
@_limits
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--csv", "csv_folder", metavar="FOLDER", help="Also write the tables as CSV files.")
@click.option("--parquet", "parquet_folder", metavar="FOLDER", help="Also write the tables as Parquet files.")
def compare(
    *,
    first: str,
    second: str,
    common_only: bool,
    min_texts: int,
    rate: float,
    max_flipped: float | None,
    max_reasons_changed: float | None,
    min_top_overlap: float | None,
    as_json: bool,
    csv_folder: str | None,
    parquet_folder: str | None,
) -> None:
    """Compare two runs of `mase run` over the same texts, of two models or two methods.

    Texts are matched by their ids, and must be equal. With limits the exit code says whether the runs are alike: 0 if
    they are, 3 if a limit is exceeded. Without limits it is 0.

    \b
    Examples
      mase compare runs/v1 runs/v2
      mase compare runs/v1 runs/v2 --max-flipped 0.01 --max-reasons-changed 0.05 --min-top-overlap 0.8
      mase compare runs/v1 runs/v2 --json > comparison.json
    """
    from mase.registry import require

    for package in ("pyarrow", "duckdb"):
        require(package, "corpora")
    from mase.cli import complain, tell
    from mase_corpora.comparison import TABLES, Thresholds, lines
    from mase_corpora.database import Form, check_free, write_tables
    from mase_corpora.differences import compare as compared

    limits = Thresholds(max_flipped, max_reasons_changed, min_top_overlap)
    forms: tuple[tuple[Form, str | None], ...] = (("csv", csv_folder), ("parquet", parquet_folder))
    folders = [(form, folder) for form, folder in forms if folder is not None]
    for form, folder in folders:
        check_free(folder, TABLES, form)
    comparison = compared(first, second, common_only=common_only, min_texts=min_texts, rate=rate)
    for form, folder in folders:
        for path in write_tables(folder, comparison.tables, form):
            tell(f"wrote {path}")
    click.echo(json.dumps(comparison.to_dict()) if as_json else "\n".join(lines(comparison)))
    exceeded = limits.exceeded(comparison)
    for sentence in exceeded:
        complain(sentence)
    if exceeded:
        click.get_current_context().exit(EXCEEDED)
