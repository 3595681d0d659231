"""`mase explain`: explain texts as heat maps, lines of JSON, tables or a page."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mase.cli.options import (
    against,
    device,
    download,
    evidence,
    how,
    max_new_tokens,
    model,
    of_documents,
    server,
    target,
    text_column,
    threads,
    trust_remote_code,
)
from mase.cli.source import one_file, source
from mase.defaults import EVIDENCE
from mase.outputs import OUTPUTS

if TYPE_CHECKING:
    from mase.attribution import Attribution
    from mase.document import Document

__all__ = ["explain"]


class _TextCommand(click.Command):
    """A command whose texts may begin with a dash, as in "-5 stars", if they are no options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a text that was taken for an option goes behind the others."""
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            texts = [text for text in args if text.startswith(error.option_name) and any(map(str.isspace, text))]
            if not texts or "--" in args:
                more = "" if error.option_name.startswith("--") else " A text that begins with a dash goes after --."
                known, place = error.possibilities, error.ctx
                raise click.NoSuchOption(error.option_name, f"{error.message}{more}", known, place) from error
        return self.parse_args(ctx, [*(text for text in args if text not in texts), "--", *texts])


@click.command(cls=_TextCommand, short_help="Score the words of one text or of many.")
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@source("Texts, one per line in UTF-8, or a table (.csv, .tsv, .jsonl or .parquet); - is standard input.", "FILE|-")
@text_column
@of_documents
@model
@server
@max_new_tokens
@target
@against
@how
@evidence(default=EVIDENCE)
@click.option(
    "--zoom",
    type=click.IntRange(0, 100),
    default=0,
    show_default=True,
    metavar="K",
    help="Also explain the K strongest units word by word, with the rest in place; for --units larger than words.",
)
@device
@threads
@download
@trust_remote_code
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one line per text, instead of heat maps.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help=f"Also write a file in the format of its suffix: .{', .'.join(OUTPUTS.names)}; repeatable.",
)
@one_file("--html", text="Also write one self-contained HTML page.")
@click.option("--append", is_flag=True, help="Resume after the results in the --output file of JSON lines.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace existing files once the new ones are complete; with --append all but that of JSON lines.",
)
@click.option("--details", is_flag=True, help="Also print how well the scores fit, what they cost, and more.")
@click.option("-q", "--quiet", is_flag=True, help="Print no heat maps.")
def explain(
    *,
    texts: tuple[str, ...],
    source: str | None,
    text_column: str | None,
    fields: list[str] | None,
    fixed: list[str],
    background: dict[str, Any] | None,
    model: str,
    server: str | None,
    max_new_tokens: int | None,
    target: str | None,
    against: str | None,
    device: str | None,
    threads: int | None,
    download: bool,
    trust_remote_code: bool,
    as_json: bool,
    outputs: tuple[str, ...],
    html: str | None,
    append: bool,
    overwrite: bool,
    details: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Score the words of each TEXT, or of the lines of a file or a column of a table, for the predicted class.

    A text that cannot be explained does not stop the others. It is reported on standard error with its number and in
    the JSON as an object of schema mase.error/1, and the exit code is 1.

    A file that is not empty is never emptied: --append resumes after its JSON lines, --overwrite replaces it at the
    end. With both, the JSON lines are resumed and the other files replaced.

    \b
    Examples
      mase explain "The cast is superb, but the plot is dull."
      mase explain --target pos --json "Not bad at all." | jq .notes
      mase explain --target all "The cast is superb, but the plot is dull."
      mase explain -i reviews.txt -o reviews.jsonl -o reviews.csv --html reviews.html
      mase explain -i reviews.csv --text-column review --json
      mase explain -i pairs.csv --fields premise,hypothesis --fixed premise -m judge.py:predict_proba
      cut -f2 table.tsv | mase explain -m lstm-reuters --json > news.jsonl
      mase explain -m classifier.py:predict_proba "Not bad at all."
    """
    from mase.cli.explanation_files import Files
    from mase.cli.explanation_run import Destinations, run
    from mase.cli.inputs import read_texts
    from mase.cli.output_files import Policy
    from mase.cli.paths import check_files
    from mase.cli.resume import Expected

    inputs = read_texts(texts, source, text_column=text_column, fields=fields, fixed=fixed, background=background)
    as_json, names = as_json or "-" in outputs, [name for name in dict.fromkeys(outputs) if name != "-"]
    files = Files.of(names, html, Policy(append, overwrite))
    read = {"--input": source} if texts or source not in (None, "-") else {"standard input": "-"}
    check_files(files.by_option, read, prints=as_json or not quiet)
    claims = files.claimed(click.get_current_context())
    from mase.cli.code import open_model, set_longest_answer
    from mase.cli.streams import aside
    from mase.explainer import Explainer
    from mase.models.runtime import configure
    from mase.target import Question, listed

    with aside():
        loaded = open_model(model, server, download=download, device=device, trust_remote_code=trust_remote_code)
        set_longest_answer(loaded, max_new_tokens)
        configure(threads)
        explainer = Explainer(loaded, fixed=fixed, background=background, **how)
        # A function of records that has no labels cannot be asked for their number yet.
        classes = listed(target, explainer.model.labels if "," in (target or "") else ())
        expected = Expected.of(explainer, Question(classes, against))

    def explain_one(text: "str | Document") -> "Attribution":
        with aside():
            found = explainer(text, target=classes, against=against)
        return replace(found, model=dict(expected.identity))

    destinations = Destinations(as_json, claims.record, claims.others, heat_maps=not quiet, details=details)
    run(inputs, explain_one, destinations, expected)
