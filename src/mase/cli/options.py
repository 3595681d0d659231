"""The options that several commands share, and how they open a model."""

import csv
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click
from click.core import ParameterSource

from mase.cli import tell_deprecated
from mase.defaults import AUTO, CONFIDENCE, LONG, MAX_NEW_TOKENS, OVERLAP, POOLINGS, PRECISIONS, REFERENCES, NSamples
from mase.document import TEXT
from mase.errors import OptionError, UnknownNameError
from mase.links import LINKS
from mase.units import DEFAULT, UNITS, splitter

if TYPE_CHECKING:
    from mase.models.base import Model
    from mase.models.language.base import LanguageModel


_BETWEEN_NAMES = re.compile(r",(?![^()]*\))")  # no comma in brackets


def names(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the names of a list A,B(SETTING=VALUE,...),..., each once; a comma in brackets is part of a name."""
    if value is None:
        return None
    return tuple(dict.fromkeys(filter(None, map(str.strip, _BETWEEN_NAMES.split(value)))))


def comma_separated(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str] | None:
    """Return the items of a list A,B,...; one with a comma is quoted, as in a CSV file."""
    try:
        return None if value is None else next(csv.reader([value], skipinitialspace=True), [])
    except csv.Error as error:
        raise click.BadParameter(f"{value!r:.100} is no list of names, expected A,B,... in one line") from error


def pairs(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a repeatable option NAME=VALUE by name."""
    result: dict[str, str] = {}
    for text in values:
        name, sign, value = text.partition("=")
        if not sign:
            raise click.BadParameter(f"{text!r} has no '=', expected NAME=VALUE")
        if name in result:
            raise click.BadParameter(f"{name!r} is given twice, expected one value for each name")
        result[name] = value
    return result


class _NSamples(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
    """An integer of at least 2, or "auto"."""

    name = "integer|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> NSamples:
        """Return the number of samples."""
        if value == AUTO:
            return AUTO
        try:
            return int(click.IntRange(min=2).convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"{value!r} is no number of samples, expected an integer >= 2 such as 1000, or auto", param, ctx)


N_SAMPLES = _NSamples()

model = click.option(
    "-m",
    "--model",
    default="lstm-imdb",
    show_default=True,
    help="Bundled model (see `mase models`), folder, hub name, URL (text-embeddings-inference or KServe v2), .json "
    "file that describes another service, or code: package.module:name or file.py:name of a function from texts to "
    "probabilities, a scikit-learn estimator, or an adapter; name() for what it returns.",
)

server = click.option(
    "--server", metavar="URL",
    help="Ask an OpenAI-compatible server of language models, such as http://localhost:8000; -m is then a name there.",
)  # fmt: skip

# None, and not the default of language models, tells whether it was given: a classifier has none, and code its own.
max_new_tokens = click.option(
    "--max-new-tokens", type=click.IntRange(min=1), metavar="N",
    help=f"Largest number of tokens of an answer that a language model generates. [default: {MAX_NEW_TOKENS}]",
)  # fmt: skip

text_column = click.option("--text-column", metavar="NAME", help=f"Column of the texts. [default: {TEXT}]")


def _background(context: click.Context, option: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Return the values of NAME=VALUE,... by name: numbers, true and false as in JSON, everything else as strings."""
    if value is None:
        return None
    from mase.sources.rows import scalar_of

    typed = pairs(context, option, tuple(comma_separated(context, option, value) or ()))
    return {name: scalar_of(item) for name, item in typed.items()}


precision = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=PRECISIONS[0],
    show_default=True,
    help="bfloat16 is used only if the processor supports it and a trial shows that it is precise enough.",
)

target = click.option(
    "--target",
    metavar="LABEL|INDEX|all",
    help="Class to explain, several (pos,neg), or all from the same evaluations. [default: the predicted one]",
)

against = click.option(
    "--against", metavar="LABEL|INDEX", help="Class to compare with: why the target rather than this one."
)

device = click.option(
    "--device", metavar="NAME", help="Device of the model, for example cuda or cuda:1. [default: cpu]"
)

download = click.option("--download", is_flag=True, help="Fetch the Hugging Face model if it is not on this machine.")

threads = click.option(
    "--threads", type=click.IntRange(1, 4096), metavar="N",
    help="Threads of the model; on a busy machine try 1. [default: torch's]",
)  # fmt: skip

trust_remote_code = click.option(
    "--trust-remote-code",
    is_flag=True,
    help="Run Python code of the model, which can do whatever you can do. Read it first.",
)


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds these options to a command, in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _batch_size(value: str) -> int | str:
    if value == "auto":
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"{value!r} is neither 'auto' nor an integer >= 1")
    return int(value)


def check_units(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return the name of units, after a check that there are such units."""
    try:
        splitter(value)
    except (OptionError, UnknownNameError) as error:
        raise click.BadParameter(str(error)) from error
    return value


def units(default: str = DEFAULT) -> Callable[[Any], Any]:
    """Return the option of the units, with its default."""
    return click.option(
        "--units",
        default=default,
        show_default=True,
        callback=check_units,
        metavar="NAME|re:REGEX",
        help=f"Units that are in or out as one: {', '.join(UNITS.entries)}, or the matches of a regular expression.",
    )


def method(default: str | None = None) -> Callable[[Any], Any]:
    """Return the option of the method, with its default; None for that of the model."""
    return click.option(
        "--method",
        default=default,
        show_default=default or "mase, or mase-cite for a language model",
        metavar="NAME",
        help="Explanation method, perhaps with settings as in mase-nlgp+sigma=0.3; see `mase methods`.",
    )


asking = options(
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True,
        help="Seed; the same seed and text give the same scores.",
    ),
    click.option("--tolerance", type=float, metavar="E", help="Stop when the relative standard error is at most E."),
    click.option(
        "--stable-top", type=click.IntRange(min=1), metavar="K",
        help="Stop when the set of the K highest units is certain.",
    ),
    click.option(
        "--confidence", type=float, metavar="C", help=f"How certain --stable-top has to be. [default: {CONFIDENCE}]"
    ),
    precision,
    click.option(
        "--batch-size", type=_batch_size, default="auto", show_default=True, metavar="auto|B",
        help="Perturbed copies per forward pass.",
    ),
    click.option("--design", hidden=True),
    click.option("--estimator", hidden=True),
)  # fmt: skip

# `explainer_options` makes the options of `Explainer` of them.
how = options(
    method(),
    click.option(
        "--n-samples", type=N_SAMPLES,
        help="Perturbed copies per text, or auto: as many as its number of units asks for. [default: the method's]",
    ),
    click.option(
        "--link", type=click.Choice(LINKS.names), help="The number of the class to explain. [default: the method's]"
    ),
    units(),
    click.option(
        "--windows", is_flag=True,
        help="Explain a text that is longer than the model reads in windows. Otherwise it is cut off.",
    ),
    click.option("--overlap", type=float, metavar="S", help=f"Share that windows have in common. [default: {OVERLAP}]"),
    click.option(
        "--pooling", type=click.Choice(POOLINGS),
        help=f"How predictions for windows become one. [default: {POOLINGS[0]}]",
    ),
    asking,
    click.option("--sigma", type=float, hidden=True),
    click.option("--reference", type=click.Choice(REFERENCES), hidden=True),
    click.option("--long", type=click.Choice(LONG), hidden=True),
)  # fmt: skip

_METHOD_PARTS = ("design", "estimator", "sigma", "reference")
_STOPPING = ("tolerance", "stable_top", "confidence")
_WINDOWS = ("windows", "long", "overlap", "pooling")


def explainer_options(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was typed as options of `mase.Explainer`; other options stay as they are."""
    from mase.methods import Variant
    from mase.options import stopping_of, windows_of

    special = {*_METHOD_PARTS, *_STOPPING, *_WINDOWS}
    result = {name: value for name, value in typed.items() if name not in special}
    for name in (*_METHOD_PARTS, "long"):
        if typed.get(name) is not None:
            instead = f"--method NAME+{name}=VALUE" if name in _METHOD_PARTS else "--windows"
            tell_deprecated(f"--{name}", instead)
    if parts := {name: typed[name] for name in _METHOD_PARTS if typed.get(name) is not None}:
        result["method"] = Variant(typed.get("method"), parts)
    rule: dict[str, Any] = {name: typed.get(name) for name in _STOPPING}
    result["stopping"] = stopping_of(**rule)
    if "windows" in typed:
        long = LONG[1] if typed["windows"] else typed.get("long")
        result["windows"] = windows_of(long, overlap=typed.get("overlap"), pooling=typed.get("pooling"))
    return result


def evidence(default: int) -> Callable[[Any], Any]:
    """Return the option of the test of the best words on the model, with its default."""
    return click.option(
        "--evidence",
        type=click.IntRange(0, 100),
        default=default,
        show_default=True,
        metavar="K",
        help="Test the K best words on the model: its prediction without them and from them alone, and what flips it. "
        "The evaluations are part of the samples; 0 for no test.",
    )


where = click.option(
    "--where", multiple=True, callback=pairs, metavar="COLUMN=VALUE",
    help="Only rows with this value; can be repeated.",
)  # fmt: skip

# Passed on to readers of tables and to `Explainer` under the same names.
of_documents = options(
    click.option(
        "--fields", callback=comma_separated, metavar="NAME,...",
        help="Columns that make a document, such as premise,hypothesis, instead of a column of texts. Without a table, "
        "a TEXT is a JSON object of these fields.",
    ),
    click.option(
        "--fixed", default="", callback=comma_separated, metavar="NAME,...",
        help="Fields that are never masked, such as a question.",
    ),
    click.option(
        "--background", callback=_background, metavar="NAME=VALUE,...",
        help="Fields that are numbers or categories, and what replaces them when they are masked: age=40,country=FR.",
    ),
)  # fmt: skip


def source(text: str, metavar: str = "FILE") -> Callable[[Any], Any]:
    """Return the option `--input` with a text of help."""
    return one_file("-i", "--input", "source", metavar=metavar, text=text, remedy="; put their texts into one file")


def one_file(*names: str, text: str, metavar: str = "FILE", remedy: str = "", check: Any = str) -> Callable[[Any], Any]:
    """Return an option for one file, with a text of help; `check` is a type of click for each of them.

    A second file is refused. Click would take the last one alone, and nobody would hear of the others.
    """

    def only(_context: click.Context, _parameter: click.Parameter, files: tuple[str, ...]) -> str | None:
        if len(files) > 1:
            raise click.BadParameter(f"got {len(files)} files, expected one{remedy}")
        return files[0] if files else None

    return click.option(*names, multiple=True, callback=only, metavar=metavar, type=check, help=text)


class LoadOptions(TypedDict):
    """Options of a model that is loaded by its folder or name."""

    download: bool
    device: str | None
    trust_remote_code: bool


def open_model(typed: str, server: str | None = None, **options: Unpack[LoadOptions]) -> "Model":
    """Return the model that was typed: `module:name`, `file.py:name`, or a name, folder or URL for `mase.models.load`.

    Code is imported and run. With a server it is a language model there, the only one if no name was typed.
    """
    from mase.models.names import is_remote
    from mase.models.open import load
    from mase.models.user_code import is_code, open_code

    if server is not None:
        from mase.models.language.answers import Generated

        is_typed = click.get_current_context().get_parameter_source("model") is not ParameterSource.DEFAULT
        return Generated(open_language_model(typed if is_typed else None, server, **options))
    remote = is_remote(typed)
    if not remote and not is_code(typed):
        return load(typed, **options)
    what = "a model behind a URL" if remote else f"the code {typed!r}"
    check_unused(what, "the server" if remote else "it", options)
    return load(typed) if remote else open_code(typed)


def set_longest_answer(model: "Model", n: int | None) -> None:
    """Let a language model generate answers of at most `n` tokens; None leaves any model as it is."""
    if n is None:
        return
    from mase.models.language.answers import Generated

    if not isinstance(model, Generated):
        raise click.UsageError(
            f"got --max-new-tokens with the model {model.name!r}, expected none: it generates no answers"
        )
    model.max_new_tokens = n


def open_language_model(typed: str | None, server: str | None, **options: Unpack[LoadOptions]) -> "LanguageModel":
    """Return the language model that was typed: a folder, a hub name, code, a description, or its name on a server."""
    from mase.models.language.open import language_model
    from mase.models.names import check_url, is_remote, is_url
    from mase.models.user_code import is_code, open_code

    if server is not None:
        check_unused("a model on a server", "the server", options)
        from mase.models.language.server import CompletionServer

        return CompletionServer(server, typed)
    if typed is None:
        raise click.UsageError("Missing option '-m' / '--model'.")
    if is_url(typed):
        typed = check_url(typed)
        raise click.UsageError(f"got the URL {typed} as --model, expected --server {typed} -m NAME, its name there")
    if is_code(typed) or is_remote(typed):
        check_unused(f"the {'code' if is_code(typed) else 'description'} {typed!r}", "it", options)
        return language_model(open_code(typed) if is_code(typed) else typed)
    from mase.models.language.open import load_language_model

    return load_language_model(typed, **options)


def check_unused(what: str, decides: str, options: Mapping[str, Any]) -> None:
    """Check that no option is given that applies to a model that is loaded by its folder or name."""
    option = next((name for name, value in options.items() if value not in (None, False)), None)
    if option is not None:
        raise click.UsageError(f"got --{option.replace('_', '-')} with {what}, expected none: {decides} decides")
