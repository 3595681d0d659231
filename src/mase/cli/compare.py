"""`mase compare`: which predictions and which reasons differ between two runs over the same texts."""

import json

import click

from mase.cli.options import options

__all__ = ["EXCEEDED", "compare"]

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
    from mase.lazy import require

    for package in ("pyarrow", "duckdb"):
        require(package, "corpora")
    from mase.cli.group import complain, tell
    from mase.comparison.compare import compare as compared
    from mase.comparison.comparison import TABLES
    from mase.comparison.report import lines
    from mase.comparison.thresholds import Thresholds
    from mase.corpus.export import Form, check_free, write_tables

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
