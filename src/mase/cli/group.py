"""The group of subcommands: imports them lazily, and turns errors into messages and exit codes."""

import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click
from click.exceptions import Exit

from mase.cli.spelling import note_call, spelled
from mase.cli.streams import escape_unencodable, messages_dropped_if_refused
from mase.errors import MaseError, MaseWarning, PluginError
from mase.platforms import on_termination
from mase.registry import Registry

__all__ = ["INTERRUPTED", "LazyGroup", "Terminated", "complain", "tell"]

_FAILED, INTERRUPTED, _BROKEN_PIPE, _TERMINATED = 1, 130, 141, 143


class Terminated(KeyboardInterrupt):
    """The system sent SIGTERM, or the terminal was closed. It is handled like Ctrl-C."""


class LazyGroup(click.Group):
    """A group of the subcommands in a registry, which imports them when they are called.

    An expected error is one line on standard error, never a traceback.

    Attributes
    ----------
    registry
        The subcommands, each a click command.
    packages
        The packages that add further subcommands, by subcommand, for the message if such a package is not installed.
    """

    def __init__(self, *, registry: Registry, packages: Mapping[str, str], **settings: Any) -> None:
        super().__init__(**settings)
        self.registry, self.packages = registry, packages

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands, those of this package first."""
        return [*self.registry.entries, *self.registry.added]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, and which package adds one that is built in."""
        super().format_commands(ctx, formatter)
        try:
            list(self.registry)
        except PluginError as error:
            with formatter.section("Problems"):
                formatter.write_text(_printable(str(error)))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand, or None if there is no such subcommand. One that cannot be imported fails when it runs.

        Raises
        ------
        UsageError
            If it is part of a package that is not installed.
        """
        if cmd_name in self.registry:
            return self._command(cmd_name)
        if cmd_name in self.packages:
            package = self.packages[cmd_name]
            raise click.UsageError(f"'mase {cmd_name}' comes with the package {package}: pip install {package}", ctx)
        return None

    def _command(self, name: str) -> click.Command:
        try:
            command = self.registry[name]
        except PluginError as error:
            return _Broken(name, error)
        if isinstance(command, click.Command):
            return command
        return _Broken(
            name,
            PluginError(
                f"command {name!r} of {self.registry.added_by(name)} is {command!r:.80}, expected a click command; "
                "update or uninstall that package"
            ),
        )

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command. Neither a message that cannot be written ends it, nor a character of its results."""
        escape_unencodable(sys.stdout)
        with messages_dropped_if_refused():
            return super().main(*args, **settings)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments; help and version are printed here."""
        with _messages():
            return super().make_context(info_name, args, parent, **extra)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that was typed, with its name and its arguments, which messages are about.

        Raises
        ------
        UsageError
            If there is none of this name, with the call that may be meant.
        """
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command {args[0]!r:.60}{self._meant(args)}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        note_call(ctx, command, rest)
        return name, command, rest

    def _meant(self, args: list[str]) -> str:
        """Return what to type in place of a command that there is not."""
        word, *rest = args
        near = get_close_matches(word, self.list_commands(None), n=1)  # type: ignore[arg-type]
        if near:
            return f"; did you mean: {shlex.join(['mase', near[0], *rest])}"
        if Path(word).is_file():
            return f"; to explain the texts in a file: {shlex.join(['mase', 'explain', '-i', word, *rest])}"
        if " " in word or not word.isascii():
            return f"; to explain a text: {shlex.join(['mase', 'explain', word, *rest])}"
        return "; mase --help lists the commands"

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand."""
        with _messages(), _warnings(), on_termination(_terminate):
            return super().invoke(ctx)


class _Broken(click.Command):
    """A subcommand of another package that cannot be used. The help says why, and a call fails with the error."""

    def __init__(self, name: str, error: PluginError) -> None:
        super().__init__(name, short_help=_printable(f"Not available: {error}"))
        self.error = error

    def make_context(self, *_: Any, **__: Any) -> NoReturn:
        """Raise the error, whatever the arguments are."""
        raise self.error


def _terminate() -> NoReturn:
    raise Terminated


@contextmanager
def _messages() -> Iterator[None]:
    """Turn an error of the block into its message and exit code."""
    try:
        yield
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()  # so that a full disk is reported here, and not when Python exits
    except MaseError as error:
        _end(str(error))
    except Terminated:
        _end("terminated", _TERMINATED)
    except KeyboardInterrupt:
        _end("interrupted", INTERRUPTED)
    except BrokenPipeError as error:
        _close_quietly(sys.stdout)
        raise Exit(_BROKEN_PIPE) from error
    except MemoryError as error:
        _end(f"out of memory ({error or 'no memory left'}); lower --n-samples or --batch-size, or use shorter texts")
    except OSError as error:
        _drop_unwritable(sys.stdout)
        path = "standard output, or a file" if error.filename is None else repr(error.filename)
        _end(f"the system refused {path}: {error.strerror or error}; make room on the disk, or choose another path")


@contextmanager
def _warnings() -> Iterator[None]:
    """Show a `MaseWarning` of the block as a line, without the place in the code that Python adds."""
    show = warnings.showwarning

    def told(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, MaseWarning):
            _write(f"{click.style('mase: warning:', fg='yellow', bold=True)} {_line(str(message))}")
        else:
            show(message, category, *place, **more)

    warnings.showwarning = told
    try:
        yield
    finally:
        warnings.showwarning = show


def _end(message: str, code: int = _FAILED) -> NoReturn:
    complain(message)
    raise Exit(code)


def complain(message: str) -> None:
    """Write an error to standard error in one line."""
    _write(f"{click.style('mase: error:', fg='red', bold=True)} {_line(message)}")


def _line(message: str) -> str:
    """Return a message for the command, in one line; messages of other packages may have several."""
    return _printable(" ".join(line.strip() for line in spelled(message).splitlines() if line.strip()))


def tell(message: str) -> None:
    """Write a line to standard error."""
    _write(_printable(message))


def _write(message: str) -> None:
    """Write to standard error, without colours if NO_COLOR is set."""
    click.echo(message, err=True, color=False if os.environ.get("NO_COLOR") else None)


def _printable(message: str) -> str:
    """Return `message` with control characters made visible, since messages quote texts, files and models."""
    from mase.render.pieces import visible

    return visible(message)


def _drop_unwritable(stream: TextIO | None) -> None:
    """Drop the buffer of a stream that cannot be flushed."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        _close_quietly(stream)


def _close_quietly(stream: TextIO | None) -> None:
    """Redirect a broken stream to the null device, so that the flush at exit does not fail."""
    if stream is None:
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
