"""The commands `mase check`, `mase models` and `mase methods`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mase.cli.options import (
    device,
    download,
    model,
    of_documents,
    server,
    source,
    text_column,
    threads,
    trust_remote_code,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mase.checking import Check, LanguageCheck
    from mase.document import Input
    from mase.sources.files import Line


_WIDTH = 100


@click.command(short_help="Say what a model was taken for, and what to pass where it was guessed.")
@model
@server
@click.option("--text", metavar="TEXT", help="Text to ask about. [default: two texts in English]")
@source("Ask about the first text or row of a file instead.")
@text_column
@of_documents
@device
@threads
@download
@trust_remote_code
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(
    *,
    model: str,
    server: str | None,
    text: str | None,
    source: str | None,
    text_column: str | None,
    fields: list[str] | None,
    fixed: list[str],
    background: dict[str, Any] | None,
    device: str | None,
    threads: int | None,
    download: bool,
    trust_remote_code: bool,
    as_json: bool,
) -> None:
    """Say what a model was taken for: its kind, classes, output, cut-off, inputs, speed, and default settings.

    The model is asked a few questions. What nobody said about it and had to be guessed is listed with what to pass to
    say it.

    \b
    Examples
      mase check -m bert-imdb
      mase check -m classifier.py:predict_proba --text "Not bad at all."
      mase check -m judge.py:predict_proba -i pairs.csv --fields premise,hypothesis
      mase check --server http://localhost:8000 -m my-model
    """
    from mase.cli import aside
    from mase.cli.chat import answers_only, is_typed
    from mase.cli.explaining import open_console
    from mase.cli.inputs import ColumnOptions, check_columns, read_texts
    from mase.cli.options import open_model
    from mase.errors import ServiceError
    from mase.models.locks import configure

    columns = ColumnOptions(text_column=text_column, fields=fields, fixed=fixed, background=background)
    check_columns(source, columns)
    if text is not None and source is not None:
        raise click.UsageError("got --text and --input, expected one of the two")
    example: Input | None = text
    if source is not None:
        example = _first(read_texts((), source, **columns).lines)
    facts: dict[str, str] | None = None
    with aside():
        try:
            loaded = open_model(model, server, download=download, device=device, trust_remote_code=trust_remote_code)
        except ServiceError:
            facts = None if server is None else answers_only(server, model if is_typed("model") else None)
            if facts is None:
                raise
        else:
            from mase.checking import check as checked

            configure(threads)
            result = checked(loaded, text=example, fixed=fixed, background=background)
    if facts is not None:
        click.echo(json.dumps(facts) if as_json else "\n".join(f"{name:<9}{fact}" for name, fact in facts.items()))
        return
    if as_json:
        click.echo(json.dumps(result.to_dict()))
    else:
        open_console().print(*_parts(result), width=_WIDTH)


def _first(lines: "Iterable[Line]") -> "Input":
    """Return the first text that can be read; if there is none, the error of the first line is raised."""
    errors = []
    for line in lines:
        if line.error is None:
            return line.text
        errors.append(line.error)
    raise errors[0]


def _parts(result: "Check | LanguageCheck") -> tuple[object, ...]:
    """Return the lines of a check as a table without borders, in which long lines are broken."""
    from rich.table import Table
    from rich.text import Text

    from mase.render.marks import inline

    grid = Table.grid(padding=(0, 2))
    for heading, line in result.facts.items():
        grid.add_row(Text(heading, "dim"), Text(line))
    for guess in result.guesses:
        grid.add_row(Text("guessed", "yellow"), Text(inline(f"{guess.what}: {guess.remedy}")))
    return Text(inline(result.name), "bold"), grid


# A key of every configuration of transformers, and of none of ours.
_HUGGING_FACE = "model_type"

# Ends of the names of classes that generate text.
_LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_ANSWERS = "  answers  what it is asked: mase cite explains its answers"


@click.command(short_help="List the bundled models, or describe one.")
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the bundled models, or describe NAME: one of them, a folder, or a URL.

    The folder is an output of `mase train`, or a Hugging Face sequence classifier. The server of a URL is asked.

    `mase explain --model` also accepts the name of a classifier on the hub.
    """
    from mase.models.bundled import ADAPTED, BUNDLED
    from mase.render.marks import inline

    if name is not None:
        click.echo("\n".join(map(inline, _description(name))))
        return
    rows = [_row(name) for name in (*BUNDLED, *ADAPTED)]
    width = max(len(row[0]) for row in rows)
    for row in rows:
        click.echo(f"{row[0]:<{width}}  {row[1]}")


def _config(name: str) -> dict[str, Any]:
    """Return the configuration of one of our models, whose other files must exist, or of a Hugging Face folder."""
    from mase.errors import DataError
    from mase.models.bundled import ADAPTED, BUNDLED, folder
    from mase.models.limits import is_folder
    from mase.models.open import is_onnx

    given = Path(name) / "config.json"
    if name not in (*BUNDLED, *ADAPTED) and is_folder(given.parent) and given.is_file():
        config = _read(given)
        if _HUGGING_FACE in config:
            return config
        if is_onnx(name):
            raise DataError(
                f"{name!r} holds an ONNX model, expected an output of mase train or a Hugging Face classifier; use "
                f"mase check -m {name}"
            )
    return _read(folder(name) / "config.json")


def _read(path: Path) -> dict[str, Any]:
    from mase.errors import DataError
    from mase.models.limits import read_json

    config = read_json(path)
    if not isinstance(config, dict):
        raise DataError(f"{str(path)!r} does not describe a model, expected an object")
    labels, training = config.get("labels", []), config.get("training", {})
    accuracy = training.get("test_accuracy") if isinstance(training, dict) else ""
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DataError(f"{str(path)!r} has the labels {labels!r:.60}, expected a list of names")
    if not isinstance(accuracy, float | int | None):
        raise DataError(
            f"{str(path)!r} has the training {training!r:.60}, expected an object with a number as test_accuracy"
        )
    return config


def _row(name: str) -> tuple[str, str]:
    from mase.errors import MaseError

    try:
        config = _config(name)
    except MaseError as error:
        return name, f"not usable: {error}"
    return name, ", ".join(_facts(config))


def _facts(config: dict[str, Any]) -> list[str]:
    labels = config.get("labels", [])
    classes = " or ".join(labels) if len(labels) == 2 else f"{len(labels)} classes"
    unit = "tokens" if "base" in config else "words"
    facts = [
        classes,
        f"reads the {'last' if config.get('keep') == 'end' else 'first'} {config.get('max_length')} {unit}",
    ]
    accuracy = config.get("training", {}).get("test_accuracy")
    return facts if accuracy is None else [*facts, f"{accuracy:.1%} correct on the test split"]


def _description(name: str) -> list[str]:
    from mase.models.language.answers import Generated
    from mase.models.names import is_remote
    from mase.models.open import load

    if is_remote(name):
        model = load(name)
        if isinstance(model, Generated):
            return [model.name, f"  behind a URL, {type(model.language_model).__name__}", _ANSWERS]
        return [model.name, f"  behind a URL, {type(model).__name__}", "  labels   " + ", ".join(model.labels)]
    config = _config(name)
    if _HUGGING_FACE in config:
        return _of_hugging_face(name, config)
    training = config.get("training", {})
    lines = [str(config.get("name", name)), *(f"  {fact}" for fact in _facts(config)[1:])]
    lines += [f"  made by  {training['command']}"] if "command" in training else []
    return [*lines, "  labels   " + ", ".join(config.get("labels", []))]


def _of_hugging_face(name: str, config: dict[str, Any]) -> list[str]:
    from mase.errors import DataError
    from mase.models.limits import check_numbers

    check_numbers(Path(name) / "config.json", config)
    by_index = config.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})  # the format's default
    try:
        labels = [str(by_index[index]) for index in sorted(by_index, key=int)]
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name!r} has the id2label {by_index!r:.80}, expected an object from index to label"
        ) from error
    named = config.get("architectures")
    architecture = ", ".join(map(str, named if isinstance(named, list) and named else [config[_HUGGING_FACE]]))
    lines = [name, f"  Hugging Face {architecture}", f"  path     {click.format_filename(Path(name).resolve())}"]
    if architecture.endswith(_LANGUAGE_MODELS):
        return [*lines, _ANSWERS]
    return [*lines, "  labels   " + ", ".join(labels)]


@click.command(short_help="List the methods, or describe one.")
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods that `mase explain --method` takes, or show every setting of the method NAME."""
    from mase.errors import PluginError
    from mase.methods import METHODS, describe

    if name is None:
        width = max(map(len, METHODS))
        for key in METHODS:
            try:
                said = METHODS[key].summary
            except PluginError as error:  # a broken plug-in must not affect other methods
                said = f"not available: {error}"
            click.echo(f"{key:<{width}}  {said}")
        return
    method = METHODS[name]
    click.echo(f"{name}\n  {method.summary}")
    for key, value in describe(method).items():
        if key != "name":
            click.echo(f"  {key:<10} {_setting(value)}")


def _setting(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    rest = ", ".join(f"{key} {setting}" for key, setting in value.items() if key != "name")
    return f"{value['name']} ({rest})" if rest else str(value["name"])
