"""`mase run`: explain a corpus into a folder, from which the command can be continued."""

from typing import Any

import click

from mase.cli.lists import comma_separated
from mase.cli.options import (
    against,
    device,
    download,
    evidence,
    how,
    max_new_tokens,
    model,
    of_documents,
    options,
    server,
    target,
    text_column,
    trust_remote_code,
    where,
)
from mase.cli.source import one_file
from mase.corpus.engines import ENGINES

__all__ = ["run"]


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
    from mase.lazy import require

    require("pyarrow", "corpora")
    from mase.cli.code import open_model, set_longest_answer
    from mase.cli.corpus_run import explain_corpus, report_estimate, sources
    from mase.cli.streams import aside
    from mase.target import Question, listed

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
