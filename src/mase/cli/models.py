"""`mase models`: list or describe the bundled classifiers, or describe one in a folder or behind a URL."""

from pathlib import Path
from typing import Any

import click

__all__ = ["models"]

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
    from mase.render.pieces import inline

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
    from mase.models.document import is_folder
    from mase.models.loading import is_onnx

    given = Path(name) / "config.json"
    if name not in (*BUNDLED, *ADAPTED) and is_folder(given.parent) and given.is_file():
        config = _read(given)
        if _HUGGING_FACE in config:
            return config
        if is_onnx(name):
            raise DataError(
                f"{name!r} holds an ONNX model, expected an output of mase train or a Hugging Face classifier; use "
                f"mase doctor -m {name}"
            )
    return _read(folder(name) / "config.json")


def _read(path: Path) -> dict[str, Any]:
    from mase.errors import DataError
    from mase.models.document import read_json

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
    from mase.models.language.generated import Generated
    from mase.models.loading import is_remote, load

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
    from mase.models.sizes import check_numbers

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
