"""`mase cite`: which parts of its context a language model used for an answer."""

from typing import TYPE_CHECKING, Any

import click

from mase.cli.options import (
    N_SAMPLES,
    asking,
    check_units,
    device,
    download,
    evidence,
    method,
    method_parts,
    options,
    server,
    threads,
    trust_remote_code,
    units,
)
from mase.cli.source import one_file
from mase.defaults import MAX_NEW_TOKENS
from mase.links import LINKS_WITHOUT_CLASSES
from mase.outputs import OUTPUTS

if TYPE_CHECKING:
    from mase.attribution import Attribution

__all__ = ["cite"]


class _SeveralFiles(click.Command):
    """A command whose option --context takes all values that follow it, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with --context repeated before each of its values."""
        given, takes = list[str](), False
        for index, arg in enumerate(args):
            if _is_option(arg):
                takes = arg.partition("=")[0] == _CONTEXT
            if arg == _CONTEXT:
                if _is_option(*args[index + 1 : index + 2]):
                    raise click.BadOptionUsage(
                        _CONTEXT, "got --context without a file, expected --context FILE...", ctx
                    )
            else:
                given += [_CONTEXT, arg] if takes and not _is_option(arg) else [arg]
        return super().parse_args(ctx, given)


def _is_option(arg: str = "--") -> bool:
    return arg.startswith("-") and arg != "-"


_CONTEXT = "--context"

_question = options(
    click.option(
        "-m", "--model", metavar="NAME",
        help="Language model: a folder, a hub name, a .json file that describes a server, code (package.module:name or "
        "file.py:name of a language model; name() for what it returns), or with --server its name there.",
    ),
    server,
    click.option(
        _CONTEXT, required=True, multiple=True, metavar="FILE...",
        help="Texts in UTF-8 that the answer is to be found in, each called by its file name; - is standard input.",
    ),
    click.option("--query", default="", metavar="TEXT", help="The question or instruction, which is never deleted."),
    click.option("--answer", metavar="TEXT", help="The answer to explain. [default: the greedy one of the model]"),
    click.option("--against", metavar="TEXT", help="Another answer: why the answer rather than this one."),
    click.option(
        "--parts", default="sentence", show_default=True, callback=check_units, metavar="NAME|re:REGEX",
        help="Parts of the answer that have scores of their own, named like --units.",
    ),
    click.option(
        "--template", metavar="TEXT",
        help="The exact prompt, in which {context}, {query} or a file name in braces stand for the texts. [default: a "
        "message of the user, in the chat template of the model]",
    ),
    click.option(
        "--max-new-tokens", type=click.IntRange(min=1), default=MAX_NEW_TOKENS, show_default=True, metavar="N",
        help="Largest number of tokens of a generated answer.",
    ),
)  # fmt: skip
_how = options(
    method("mase-cite"),
    click.option(
        "--n-samples", type=N_SAMPLES,
        help="Prompts that the model is asked about, or auto: as many as the number of units asks for. "
        "[default: the method's]",
    ),
    click.option(
        "--link", type=click.Choice(LINKS_WITHOUT_CLASSES["log-probabilities"]),
        help="The number of the answer to explain. [default: logit, the log-odds; with --against log-probability]",
    ),
    method_parts,
    units("sentence"),
    asking,
)  # fmt: skip


@click.command(cls=_SeveralFiles, short_help="Find the parts of a context that a language model's answer is from.")
@_question
@_how
@evidence(default=0)
@device
@threads
@download
@trust_remote_code
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the answer and its sources.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help=f"Also write a file in the format of its suffix: .{', .'.join(OUTPUTS.names)}; repeatable.",
)
@one_file("--html", text="Also write one self-contained HTML page.")
@click.option("--overwrite", is_flag=True, help="Replace existing files once the new ones are complete.")
@click.option("--details", is_flag=True, help="Also print how well the scores fit, what they cost, and more.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on standard output.")
def cite(
    *,
    model: str | None,
    server: str | None,
    context: tuple[str, ...],
    device: str | None,
    threads: int | None,
    download: bool,
    trust_remote_code: bool,
    as_json: bool,
    outputs: tuple[str, ...],
    html: str | None,
    overwrite: bool,
    details: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Score the parts of a context for an answer of a language model, and for each sentence of the answer.

    The answer is that of the model, or any other text. Sentences of the context, or other units, are left out of the
    prompt in many combinations. A score says how much the answer depends on a unit.

    A file that is not empty is never emptied: --overwrite replaces it once the new one is complete.

    \b
    Examples
      mase cite -m HuggingFaceTB/SmolLM2-135M-Instruct --download --context minutes.txt --query "Who pays?"
      mase cite -m ./model --context docs/*.txt --query "When does it open?" --units document
      mase cite -m ./model --context report.txt --query "Sum it up." --json | jq .answer
      mase cite -m ./model --context a.txt b.txt --query "Who won?" --answer "Ann" --against "Bob" --html why.html
      mase cite --server http://localhost:8000 -m my-model --context notes.txt --query "What was decided?"
      pdftotext paper.pdf - | mase cite -m ./model --context - --query "What is the main result?"
    """
    from mase.cli.contexts import names_of, read_context
    from mase.cli.explanation_files import Files
    from mase.cli.explanation_run import Destinations, run
    from mase.cli.inputs import Texts
    from mase.cli.output_files import Policy
    from mase.cli.paths import check_files
    from mase.datasets.texts import Line

    names_of(context)
    as_json, names = as_json or "-" in outputs, [name for name in dict.fromkeys(outputs) if name != "-"]
    files = Files.of(names, html, Policy(overwrite=overwrite), resumes=False)
    check_files(files.by_option, {f"--context {name}": name for name in context}, prints=as_json or not quiet)
    texts = read_context(context)
    claims = files.claimed(click.get_current_context())
    from mase import citing
    from mase.cli.code import open_language_model
    from mase.cli.streams import aside
    from mase.models.runtime import configure
    from mase.render.progress import evaluations

    with aside():
        opened = open_language_model(
            model, server, download=download, device=device, trust_remote_code=trust_remote_code
        )
        configure(threads)

    def explain(_: object) -> "Attribution":
        with aside(), evaluations("citing") as listener:
            return citing.cite(opened, context=texts, listener=listener, **asked)

    document = citing.sources(texts, asked["query"])
    run(
        Texts(iter([Line(1, document)]), 1, "text"),
        explain,
        Destinations(as_json, claims.record, claims.others, heat_maps=not quiet, details=details),
    )
