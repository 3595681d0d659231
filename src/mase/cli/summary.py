"""`mase summary`: what the explanations of a run say together."""

import click

from mase.cli.source import one_file

__all__ = ["summary"]

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
    from mase.lazy import require

    for package in ("pyarrow", "duckdb"):
        require(package, "corpora")
    from mase.cli.explanation_run import open_console
    from mase.cli.group import tell
    from mase.cli.summary_tables import show
    from mase.corpus.export import Form, check_free, write_tables
    from mase.report.folder import check_free as check_report
    from mase.summary.summarising import summarise
    from mase.summary.tables import ROWS

    if html_folder is not None:
        check_report(html_folder)
    forms: tuple[tuple[Form, str | None], ...] = (("csv", csv_folder), ("parquet", parquet_folder))
    folders = [(form, folder) for form, folder in forms if folder is not None]
    for form, folder in folders:
        check_free(folder, ROWS, form)
    found = summarise(run, label_column=label_column, group_column=group_column, min_texts=min_texts, top=top)
    show(found, open_console(), examples=examples)
    if html_folder is not None:  # first, because its folder must be empty, and the tables may go into it
        tell(f"wrote {click.format_filename(found.to_html(html_folder))}")
    for form, folder in folders:
        write_tables(folder, found.tables, form)
        tell(f"wrote the tables to {click.format_filename(folder)}")
