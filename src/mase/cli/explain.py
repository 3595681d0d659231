"""The commands `mase explain` and `mase cite`."""

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mase.cli.chat import citing as citing_chat
from mase.cli.chat import classifying, shared
from mase.cli.options import (
    N_SAMPLES,
    against,
    asking,
    check_units,
    device,
    download,
    evidence,
    explainer_options,
    how,
    max_new_tokens,
    method,
    model,
    of_documents,
    one_file,
    options,
    server,
    source,
    target,
    text_column,
    threads,
    trust_remote_code,
    units,
)
from mase.defaults import EVIDENCE
from mase.links import LINKS_WITHOUT_CLASSES
from mase.outputs import OUTPUTS

if TYPE_CHECKING:
    from mase.attribution.attribution import Attribution
    from mase.document import Document


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
@shared
@classifying
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
      mase explain --chat --server http://localhost:8000 --labels positive,negative -i reviews.csv -o found.jsonl
    """
    from mase.cli.chat import is_typed, open_chat, taken
    from mase.cli.explaining import Destinations, Expected, run
    from mase.cli.files import Files, Policy, check_files
    from mase.cli.inputs import read_texts

    chat = taken(how, "chat_labels", "prompt")
    inputs = read_texts(texts, source, text_column=text_column, fields=fields, fixed=fixed, background=background)
    as_json, names = as_json or "-" in outputs, [name for name in dict.fromkeys(outputs) if name != "-"]
    files = Files.of(names, html, Policy(append, overwrite))
    read = {"--input": source} if texts or source not in (None, "-") else {"standard input": "-"}
    check_files(files.by_option, read, prints=as_json or not quiet)
    claims = files.claimed(click.get_current_context())
    from mase.cli import aside
    from mase.cli.options import check_unused, open_model, set_longest_answer
    from mase.explainer import Explainer
    from mase.models.locks import configure
    from mase.models.open import adapt
    from mase.progress import evaluations
    from mase.target import Question, listed

    remote = {"download": download, "device": device, "trust_remote_code": trust_remote_code}
    with aside():
        if chat:
            check_unused("--chat", "the server or the code", remote)
            named = model if is_typed("model") else None
            asked = open_chat(named, server, chat, names, max_tokens=max_new_tokens)
            loaded = adapt(asked)
        else:
            loaded = open_model(model, server, download=download, device=device, trust_remote_code=trust_remote_code)
            set_longest_answer(loaded, max_new_tokens)
        configure(threads)
        explainer = Explainer(loaded, fixed=fixed, background=background, **explainer_options(how))
        # A function of records that has no labels cannot be asked for their number yet.
        classes = listed(target, explainer.model.labels if "," in (target or "") else ())
        expected = Expected.of(explainer, Question(classes, against))

    spent = (lambda: str(asked.bill)) if chat else None

    def explain_one(text: "str | Document") -> "Attribution":
        bar = evaluations("explaining", spent) if chat and inputs.total == 1 else nullcontext()
        with aside(), bar as listener:
            told: dict[str, Any] = {} if listener is None else {"on_progress": listener}
            attribution: Attribution = explainer(text, target=classes, against=against, **told)
        return replace(attribution, model=dict(expected.identity))

    destinations = Destinations(as_json, claims.record, claims.others, heat_maps=not quiet, details=details)
    run(inputs, explain_one, destinations, expected, spent)


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
        _CONTEXT, multiple=True, metavar="FILE...",
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
    max_new_tokens,
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
    units("sentence"),
    asking,
)  # fmt: skip


# Options whose default depends on whether the model is a chat model that only answers.
_OTHERWISE = ("method", "evidence")


@click.command(cls=_SeveralFiles, short_help="Find the parts of a context that a language model's answer is from.")
@_question
@shared
@citing_chat
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
      mase cite --chat --server http://localhost:8000 -m my-model --messages chat.json --html why.html
      pdftotext paper.pdf - | mase cite -m ./model --context - --query "What is the main result?"
    """
    from mase.cli.chat import is_typed, open_chat, read_messages, taken, told_of_cost
    from mase.cli.explaining import Destinations, run
    from mase.cli.files import Files, Policy, check_files
    from mase.cli.inputs import Texts, names_of, read_context
    from mase.sources.files import Line

    chat = taken(asked, "messages", "measure")
    if not context and "messages" not in chat:
        raise click.UsageError("Missing option '--context'.")
    names_of(context)
    as_json, names = as_json or "-" in outputs, [name for name in dict.fromkeys(outputs) if name != "-"]
    files = Files.of(names, html, Policy(overwrite=overwrite), resumes=False)
    check_files(files.by_option, {f"--context {name}": name for name in context}, prints=as_json or not quiet)
    texts = read_context(context)
    messages = read_messages(chat.pop("messages")) if "messages" in chat else None
    claims = files.claimed(click.get_current_context())
    from mase import citing
    from mase.cli import aside
    from mase.cli.options import check_unused, open_language_model
    from mase.models.locks import configure
    from mase.progress import evaluations

    opened: Any
    remote = {"download": download, "device": device, "trust_remote_code": trust_remote_code}
    with aside():
        if chat:
            check_unused("--chat", "the server or the code", remote)
            of_chat = {"messages": messages, "measure": chat.pop("measure", None)}
            opened = open_chat(model, server, chat, names, max_tokens=asked.pop("max_new_tokens"))
            asked = {name: item for name, item in asked.items() if name not in _OTHERWISE or is_typed(name)} | of_chat
            conversation = citing.conversation_of(texts or None, asked["query"], messages, asked["template"])
            document = conversation.document
        else:
            opened = open_language_model(
                model, server, download=download, device=device, trust_remote_code=trust_remote_code
            )
            document = citing.sources(texts, asked["query"])
        configure(threads)

    asked = explainer_options(asked)

    def explain(_: object) -> "Attribution":
        if chat:
            told_of_cost(opened, conversation, asked)
        with aside(), evaluations("citing", (lambda: str(opened.bill)) if chat else None) as listener:
            return citing.cite(opened, context=texts or None, on_progress=listener, **asked)

    run(
        Texts(iter([Line(1, document)]), 1, "text"),
        explain,
        Destinations(as_json, claims.record, claims.others, heat_maps=not quiet, details=details),
    )
