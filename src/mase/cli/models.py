"""`mase models`: the classifiers that come with the library."""

import json
from typing import Any

import click

__all__ = ["models"]


@click.command(short_help="List the bundled models, or describe one.")
@click.argument("name", required=False)
def models(name: str | None) -> None:
    """List the models that come with the library, or describe the model NAME (or a folder written by `mase train`).

    `mase explain --model` also takes a folder with a Hugging Face sequence classifier, or its name on the hub.
    """
    from mase.models.bundled import ADAPTED, BUNDLED

    if name is not None:
        click.echo("\n".join(_description(name)))
        return
    rows = [_row(name) for name in (*BUNDLED, *ADAPTED)]
    width = max(len(row[0]) for row in rows)
    for row in rows:
        click.echo(f"{row[0]:<{width}}  {row[1]}")


def _config(name: str) -> dict[str, Any]:
    from mase.errors import DataError
    from mase.models.bundled import folder

    path = folder(name) / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {str(path)!r}: {error}") from error
    if not isinstance(config, dict):
        raise DataError(f"{str(path)!r} does not describe a model, expected an object")
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
    facts = [classes, f"reads the {'last' if config.get('keep') == 'end' else 'first'} {config.get('max_length')} {unit}"]
    accuracy = config.get("training", {}).get("test_accuracy")
    return facts if accuracy is None else [*facts, f"{accuracy:.1%} right on the test split"]


def _description(name: str) -> list[str]:
    config = _config(name)
    training = config.get("training", {})
    lines = [str(config.get("name", name)), *(f"  {fact}" for fact in _facts(config)[1:])]
    lines += [f"  made by  {training['command']}"] if "command" in training else []
    return [*lines, "  labels   " + ", ".join(config.get("labels", []))]
