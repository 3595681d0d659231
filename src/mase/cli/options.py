"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

from mase.choices import PRECISIONS

__all__ = ["model", "options", "precision", "text_column", "trust_remote_code"]

model = click.option(
    "-m",
    "--model",
    default="lstm-imdb",
    show_default=True,
    help="Bundled model (see `mase models`), folder, hub name, or code: package.module:name or file.py:name of a "
    "function from texts to probabilities, a scikit-learn estimator, or an adapter.",
)

text_column = click.option(
    "--text-column", default="text", show_default=True, metavar="NAME", help="Column of the texts."
)

precision = click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=PRECISIONS[0],
    show_default=True,
    help="bfloat16 is used only if the processor supports it and a trial shows that it is precise enough.",
)

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
