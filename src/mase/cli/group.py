"""The group of verbs: imports a verb when it is called, and is the one place where errors become messages and exit codes."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NoReturn, TextIO

import click
from click.exceptions import Exit

from mase.errors import MaseError
from mase.platforms import on_termination

__all__ = ["LazyGroup", "Terminated", "complain", "tell"]

# A name as of a parameter: text_column.
_PARAMETER = re.compile(r"(?<![\w'\"./-])[a-z]+(?:_[a-z]+)+(?![\w'\"./-])")
_FAILED, _INTERRUPTED, _BROKEN_PIPE, _TERMINATED = 1, 130, 141, 143


class Terminated(KeyboardInterrupt):
    """The system asked the command to end (SIGTERM): it does so as after Ctrl-C."""


# Verbs of other packages: entry points of this group, each a click command.
_ENTRY_POINTS = "mase.commands"
# Verbs that a package of this project brings.
_BROUGHT_BY = {"reproduce": "mase-xai-paper", "train": "mase-xai-paper"}


class LazyGroup(click.Group):
    """A group whose verb `name` is the command of that name in the module `mase.cli.name`, or in another package.

    Other packages add verbs by entry points of the group ``mase.commands``. An expected error is one line on standard
    error, never a traceback.
    """

    def __init__(self, *, verbs: Sequence[str], **settings: Any) -> None:
        super().__init__(**settings)
        self.verbs = tuple(verbs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which a newcomer meets them."""
        return [*self.verbs, *sorted(entry_points(group=_ENTRY_POINTS).names - set(self.verbs))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a verb, None if there is no such verb.

        Raises
        ------
        UsageError
            If a package that is not installed brings it.
        """
        if cmd_name in self.verbs:
            command: click.Command = getattr(import_module(f"mase.cli.{cmd_name}"), cmd_name)
            return command
        for added in entry_points(group=_ENTRY_POINTS, name=cmd_name):
            found: click.Command = added.load()
            return found
        if cmd_name in _BROUGHT_BY:
            package = _BROUGHT_BY[cmd_name]
            raise click.UsageError(f"'mase {cmd_name}' comes with the package {package}: pip install {package}", ctx)
        return None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the arguments; help and version are printed here."""
        with _messages():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb."""
        with _messages(), on_termination(_terminate):
            return super().invoke(ctx)


def _terminate() -> NoReturn:
    raise Terminated


@contextmanager
def _messages() -> Iterator[None]:
    """Make of an error of the block its message and exit code."""
    try:
        yield
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()  # what a full disk refuses is told here, and not when Python ends
    except MaseError as error:
        _end(str(error))
    except Terminated:
        _end("terminated", _TERMINATED)
    except KeyboardInterrupt:
        _end("interrupted", _INTERRUPTED)
    except BrokenPipeError as error:
        _close_quietly(sys.stdout)
        raise Exit(_BROKEN_PIPE) from error
    except MemoryError as error:
        _end(
            f"out of memory ({error or 'no more to be had'}); lower --n-samples or --batch-size, or take shorter texts"
        )
    except OSError as error:
        _drop_unwritable(sys.stdout)
        place = "standard output, or a file" if error.filename is None else repr(error.filename)
        _end(f"the system refused {place}: {error.strerror or error}; make room on the disk, or choose another path")


def _end(message: str, code: int = _FAILED) -> NoReturn:
    complain(message)
    raise Exit(code)


def complain(message: str) -> None:
    """Write an error to standard error, in one line: those that other packages raise may have several."""
    one_line = " ".join(line.strip() for line in _as_options(message).splitlines() if line.strip())
    _write(f"{click.style('mase: error:', fg='red', bold=True)} {_printable(one_line)}")


def _as_options(message: str) -> str:
    """Return a message of the library with its parameters as the options that the user of this command types.

    Only names with an underscore, outside quotes and dotted names: others are words of the language, or the user's.
    """
    options = _options(click.get_current_context(silent=True))
    return _PARAMETER.sub(lambda name: options.get(name[0], name[0]), message)


def _options(context: click.Context | None) -> dict[str, str]:
    """Return the longest spelling of each parameter of the verb that runs, or has just failed."""
    command = None if context is None else context.command
    if context is not None and isinstance(command, click.Group):
        command = command.get_command(context, context.invoked_subcommand or "")
    parameters = [] if command is None else command.params
    return {one.name: max(one.opts, key=len) for one in parameters if one.name and isinstance(one, click.Option)}


def tell(message: str) -> None:
    """Write a line to standard error."""
    _write(_printable(message))


def _write(message: str) -> None:
    """Write to standard error, without colours where the user wants none."""
    click.echo(message, err=True, color=False if os.environ.get("NO_COLOR") else None)


def _printable(message: str) -> str:
    """Return `message` without characters that could command a terminal; messages quote texts, files and models."""
    from mase.render.pieces import visible

    return visible(message)


def _drop_unwritable(stream: TextIO | None) -> None:
    """Drop what a stream still holds, if the system does not take it."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        _close_quietly(stream)


def _close_quietly(stream: TextIO | None) -> None:
    """Point a stream that cannot be written at nothing, so that Python's last flush does not complain."""
    if stream is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
