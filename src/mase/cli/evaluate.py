"""`mase evaluate`: the faithfulness of methods, or of given attributions, to a model on labelled texts."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from mase.cli.options import (
    N_SAMPLES,
    device,
    download,
    model,
    names,
    of_documents,
    one_file,
    options,
    pairs,
    precision,
    source,
    text_column,
    threads,
    trust_remote_code,
    units,
    where,
)
from mase.defaults import KS, PICTURE_FORMATS, TABLE_FORMATS
from mase.metrics import AUTO, METRICS, OPERATORS

if TYPE_CHECKING:
    from mase.cli.evaluation import Claims


def _ks(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise click.BadParameter(f"{value!r} is not a list of integers >= 1, as in 1,5,10")
    return tuple(dict.fromkeys(map(int, parts)))


def _ending(endings: Collection[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not value.lower().endswith(tuple(endings)):
            raise click.BadParameter(f"{value!r} has an unknown suffix, expected one of {', '.join(endings)}")
        return value

    return check


_which_texts = options(
    source("Table of texts: .csv, .tsv, .jsonl or .parquet."),
    text_column,
    of_documents,
    click.option(
        "--label-column", metavar="NAME", help="Column of the true classes. [default: label, if there is one]"
    ),
    where,
    click.option(
        "--label", "renamed", multiple=True, callback=pairs, metavar="LABEL=CLASS",
        help="The model's class for a label of the table; can be repeated.",
    ),
    click.option(
        "--n-texts", type=click.IntRange(min=1), default=100, show_default=True, help="Texts drawn from the table."
    ),
    click.option("--only-correct", is_flag=True, help="Leave out texts that the model classifies wrongly."),
)  # fmt: skip
_what_is_evaluated = options(
    click.option(
        "--methods", default="mase,random", show_default=True, callback=names, metavar="NAME,...",
        help="Methods to evaluate, see `mase methods`; with settings as in lime+link=margin. Empty for --attributions "
        "alone.",
    ),
    click.option(
        "--attributions", multiple=True, callback=pairs, metavar="NAME=FILE",
        help="Attributions of another tool, to evaluate under NAME; can be repeated.",
    ),
    click.option(
        "--metrics", default="delta-accuracy,comprehensiveness", show_default=True, callback=names, metavar="NAME,...",
        help=f"{', '.join(METRICS.names)}.",
    ),
    click.option(
        "--k", "ks", callback=_ks, metavar="K,...",
        help=f"Numbers of words to mask. [default: {','.join(map(str, KS))}]",
    ),
    click.option(
        "--operator", type=click.Choice((AUTO, *OPERATORS)), default=AUTO, show_default=True, help="Masking operator."
    ),
    click.option("--n-samples", type=N_SAMPLES, help="Samples per text. [default: each method's]"),
    units(),
    precision,
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True,
        help="Seed; the same seed gives the same texts and numbers.",
    ),
    click.option(
        "--batches", type=click.IntRange(min=1), default=1, show_default=True, metavar="B",
        help="Also report the standard deviation over B batches of the texts.",
    ),
)  # fmt: skip


@click.command(short_help="Evaluate the faithfulness of methods on labelled texts.")
@_which_texts
@model
@_what_is_evaluated
@device
@threads
@download
@trust_remote_code
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@one_file(
    "-o",
    "--output",
    metavar="FILE.json",
    text="Also write JSON with the values of every text; - is --json.",
)
@click.option(
    "--table",
    "tables",
    metavar="FILE",
    multiple=True,
    type=_ending(TABLE_FORMATS),
    help=f"Also write the tables, in the format of the suffix: {', '.join(TABLE_FORMATS)}; can be repeated.",
)
@one_file(
    "--plot",
    check=_ending(PICTURE_FORMATS),
    text=f"Also draw the means with their intervals, in the format of the suffix: {', '.join(PICTURE_FORMATS)}.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing file once the new one is complete.")
def evaluate(
    *,
    source: str | None,
    text_column: str | None,
    fields: list[str] | None,
    fixed: list[str],
    background: dict[str, Any] | None,
    label_column: str | None,
    where: dict[str, str],
    renamed: dict[str, str],
    n_texts: int,
    only_correct: bool,
    model: str,
    methods: tuple[str, ...],
    attributions: dict[str, str],
    metrics: tuple[str, ...],
    ks: tuple[int, ...] | None,
    device: str | None,
    threads: int | None,
    download: bool,
    trust_remote_code: bool,
    as_json: bool,
    output: str | None,
    tables: tuple[str, ...],
    plot: str | None,
    overwrite: bool,
    batches: int,
    **how: Any,
) -> None:
    """Evaluate how faithful methods, or attributions of other tools, are to a model on the texts of a table.

    Every text is explained for the class that the model predicts. An attributions FILE is an output of `mase explain
    -o`, matched by text, or holds JSON, one per row of the table: a list of [word, score] pairs, an object from word to
    score, numbers per token (captum), or values and data (shap). Without --input, its own texts are evaluated. If a
    text fails, or a method fails on a text, its row is reported on standard error and the exit code is 1.

    \b
    Examples
      mase evaluate -i imdb.parquet --where split=test --only-correct --methods mase,lime,random
      mase evaluate -i reviews.csv --text-column review --label positive=pos --label negative=neg
      mase evaluate -i pairs.csv --fields premise,hypothesis -m judge.py:predict_proba
      mase evaluate -i news.jsonl -m lstm-reuters --metrics naopc,infidelity --n-texts 20 -o news.json
      mase evaluate -i imdb.parquet --methods mase,mase+n_samples=200,lime+link=margin
      mase evaluate -i imdb.parquet --methods mase,lime,kernel-shap --table a.tex --table a.csv --plot a.pdf
      mase explain -i reviews.txt -o mine.jsonl && mase evaluate --attributions mine=mine.jsonl --methods random
    """
    if source is None and not attributions:
        raise click.UsageError("got no texts, expected --input FILE, or --attributions NAME=FILE of `mase explain -o`")
    if not methods and not attributions:
        raise click.UsageError("got nothing to evaluate, expected --methods or --attributions")
    if not metrics:
        raise click.UsageError("got no metrics, expected --metrics NAME,...")
    from mase.cli import aside
    from mase.cli.evaluation import Source, run_evaluation, show
    from mase.cli.files import check_suffix, standard_output
    from mase.cli.inputs import ColumnOptions, check_columns
    from mase.cli.options import open_model
    from mase.metrics.base import named_metrics
    from mase.metrics.evaluation import Evaluator
    from mase.models.locks import configure

    as_json, output = standard_output(output, as_json=as_json)
    check_suffix(output, ".json")
    given = {f"--attributions {name}": file for name, file in attributions.items()}
    claims = _claimed(output, plot, tables, {"--input": source, **given}, overwrite=overwrite)
    columns = ColumnOptions(text_column=text_column, fields=fields, fixed=fixed, background=background)
    check_columns(source, columns)
    of_rows = {"--label-column": label_column, "--where": where, "--label": renamed}
    unused = next((name for name, value in of_rows.items() if value and source is None), None)
    if unused is not None:
        raise click.UsageError(f"got {unused} without a table, expected --input FILE, whose rows it is about")
    texts = Source.read(source, columns, label_column, where, renamed, attributions, labels_needed=only_correct)
    n_usable = min(n_texts, texts.n_readable)
    if batches > max(1, n_usable):
        raise click.UsageError(f"got {batches} batches of {n_usable} texts, expected at least one text in each")
    with aside():
        loaded = open_model(model, download=download, device=device, trust_remote_code=trust_remote_code)
        configure(threads)
        evaluator = Evaluator(loaded, methods=methods, metrics=named_metrics(metrics, ks), **how)
    with run_evaluation(evaluator, texts, n_texts, only_correct=only_correct) as run:
        show(run, batches, claims, as_json=as_json)


def _claimed(
    output: str | None, plot: str | None, tables: tuple[str, ...], read: Mapping[str, str | None], *, overwrite: bool
) -> "Claims":
    """Claim the files that the command writes, until it ends. They are none of those that it reads, by option."""
    from mase.cli.evaluation import Claims
    from mase.cli.files import Destination, Policy, check_files
    from mase.render.figure import check_matplotlib

    policy = Policy(overwrite=overwrite)
    names = {"--output": output, "--plot": plot} | {f"--table {name}": name for name in tables}
    files = {
        option: None if name is None else Destination(name, policy, by_line=False) for option, name in names.items()
    }
    check_files(files, read)
    if plot is not None:
        check_matplotlib()
    context = click.get_current_context()
    claimed = (None if file is None else context.with_resource(file.claimed()) for file in files.values())
    return Claims(next(claimed), next(claimed), tuple(filter(None, claimed)))
