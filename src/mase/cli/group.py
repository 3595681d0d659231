"""The group of verbs: imports a verb when it is called, and is the one place where errors become messages and exit codes."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

import click

from mase.errors import MaseError

__all__ = ["LazyGroup", "complain", "tell"]

_INTERRUPTED, _BROKEN_PIPE = 130, 141


class LazyGroup(click.Group):
    """A group whose verb `name` is the command of that name in the module `mase.cli.name`."""

    def __init__(self, *, verbs: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        self.verbs = tuple(verbs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which a newcomer meets them."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb, None if there is no such verb."""
        if cmd_name not in self.verbs:
            return None
        command: click.Command = getattr(import_module(f"mase.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; an expected error is one line on standard error, never a traceback."""
        try:
            return super().invoke(ctx)
        except MaseError as error:
            complain(str(error))
            ctx.exit(1)
        except KeyboardInterrupt:
            complain("interrupted")
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            _close_quietly(sys.stdout)
            ctx.exit(_BROKEN_PIPE)


def complain(message: str) -> None:
    """Write an error to standard error."""
    tell(f"{click.style('mase: error:', fg='red', bold=True)} {_printable(message)}")


def tell(message: str) -> None:
    """Write a line to standard error, without colours where the user wants none."""
    click.echo(message, err=True, color=False if os.environ.get("NO_COLOR") else None)


def _printable(message: str) -> str:
    """Return `message` without characters that could command a terminal; messages quote texts, files and models."""
    from mase.render.pieces import visible

    return visible(message)


def _close_quietly(stream: TextIO) -> None:
    """Point a stream whose reader is gone at nothing, so that Python's last flush does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
