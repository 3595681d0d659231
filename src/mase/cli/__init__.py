"""The command `mase`: subcommands that are imported when they run, exit codes, and messages in its own words."""

import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from io import BufferedWriter, BytesIO, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click
from click.exceptions import Exit

from mase import __version__
from mase.errors import MaseError, MaseWarning, PluginError
from mase.platforms import on_termination
from mase.registry import Registry

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = [
    "COMMANDS",
    "INTERRUPTED",
    "LazyGroup",
    "Terminated",
    "aside",
    "complain",
    "escape_unencodable",
    "main",
    "messages_dropped_if_refused",
    "note_call",
    "spelled",
    "tell",
]

_CALL = "mase.cli"
_NAME = r"[a-z]+(?:_[a-z]+)*"

# What messages say of a parameter that is the subject of a sentence.
_VERBS = "is|are|has|names|given"

# The first four are left as they are: what a model raised; the names that could stand in the place of an unknown one;
# what is in quotes, such as the name of a file; and a call such as f(x='y'), which is Python whatever it holds. The
# others are replaced: a parameter with its value, as in method='mase', fresh=True or fields=[...]; a parameter at the
# beginning, as in "fields are []" or "row 1: fixed names 'q'"; and the name of a parameter of several words, such as
# text_column.
_PYTHON = re.compile(
    rf"""\braised\ \w+:\ [\s\S]*
    | \bknown:\ [\w.,\ -]*
    | (?<!\w) (?: '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" ) (?!\w)
    | \w\([^()]*\)
    | (?<![\w'"./-]) (?P<name>{_NAME}) = (?P<value>'.*?' | ".*?" | \[[^\]]*\] | \{{[^}}]*\}} | True\b)
    | (?P<place>^ | \b(?:row|text|line)\ [\d,]+:\  | Error:\ )
      (?P<subject>{_NAME}(?:(?:,|\ and)\ {_NAME})*) (?=\ (?:{_VERBS})\b)
    | (?<![\w'"./-]) (?P<parameter>[a-z]+(?:_[a-z]+)+) (?![\w'"./-])""",
    re.VERBOSE,
)


def note_call(context: click.Context, command: click.Command | None, arguments: Sequence[object]) -> None:
    """Note the subcommand that is called and what was typed after its name, for the messages of this call."""
    context.meta[_CALL] = command, tuple(map(str, arguments))  # callers of `main` may give paths


def spelled(message: str) -> str:
    """Return a message in which parameters are replaced by the options of the command that runs or has just failed.

    A name of one word may as well be an ordinary word, such as text. It is replaced only with a value, or at the
    beginning of a message, and there only if the user typed that option, or another one that stands beside it.
    """
    context = click.get_current_context(silent=True)
    command, arguments = (None, ()) if context is None else context.meta.get(_CALL, (None, ()))
    options = {str(option.name): option for option in _options(context, command, arguments)}
    typed = {name for name, option in options.items() if _is_typed(option, arguments)}

    def all_in(names: str) -> str:
        return re.sub(_NAME, lambda name: _long(options[name[0]]) if name[0] in options else name[0], names)

    def replaced(match: re.Match[str]) -> str:
        if match["parameter"] is not None:
            return all_in(match["parameter"])
        if match["subject"] is not None:
            is_meant = not typed.isdisjoint(re.findall(_NAME, match["subject"])) or "_" in match["subject"]
            return match["place"] + (all_in(match["subject"]) if is_meant else match["subject"])
        if match["name"] is not None:
            one_or_list = options.get(match["name"]) or options.get(f"{match['name']}s")  # as in --methods
            return _with_value(one_or_list, match["value"]) or match[0]
        return match[0]

    return _PYTHON.sub(replaced, message)


def _options(
    context: click.Context | None, command: click.Command | None, arguments: Sequence[str]
) -> Iterator[click.Option]:
    """Yield the options of the subcommand, or of the subcommand of that."""
    while context is not None and isinstance(command, click.Group):
        command = command.get_command(context, next(iter(arguments), ""))
    for parameter in () if command is None else command.params:
        if isinstance(parameter, click.Option):
            yield parameter


def _is_typed(option: click.Option, arguments: Sequence[str]) -> bool:
    long = [form for form in option.opts if form.startswith("--")]
    short = tuple(form for form in option.opts if form not in long)
    return any(
        argument.partition("=")[0] in long or (argument[:2] != "--" and short and argument.startswith(short))
        for argument in arguments
    )


def _long(option: click.Option) -> str:
    """Return the long form; further ones are aliases."""
    return next((form for form in option.opts if form.startswith("--")), option.opts[0])


def _with_value(option: click.Option | None, value: str) -> str | None:
    """Return an option with a value of Python, where it is one word; None if no option has the same name.

    The setting ``outputs=`` of a model is not --output, which is a file.
    """
    if option is None or _long(option) != f"--{str(option.name).replace('_', '-')}":
        return None
    return f"{_long(option)} {shlex.quote(value[1:-1])}" if value[0] in "'\"" else _long(option)


_INPUT, _OUTPUT, _ERRORS = 0, 1, 2


@contextmanager
def aside() -> Iterator[None]:
    """Keep the code of a model away from standard output and standard input while the block runs.

    Standard output is for results and standard input for texts. Python's streams are redirected, and also the
    descriptors below them, which C libraries and child processes use.
    """
    given, output = sys.stdin, sys.stdout
    _flush(output)
    with ExitStack() as stack:
        null = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, null)
        errors = null if sys.stderr is None else _ERRORS  # a closed descriptor may have been reused for a file
        for descriptor, target in ((_INPUT, null), (_OUTPUT, errors), (_ERRORS, errors)):
            if descriptor != target:  # standard error may be taken away meanwhile, with its terminal
                stack.enter_context(_redirected(descriptor, target))
        stack.callback(_flush, output)  # flush what was written to it before its descriptor is restored
        stack.callback(_replace, given, output)
        _replace(TextIOWrapper(BytesIO(), encoding="utf-8"), sys.stderr)
        yield


def escape_unencodable(stream: TextIO | None) -> None:
    """Let a stream escape the characters that its encoding lacks, such as most of a code page of Windows."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def messages_dropped_if_refused() -> Iterator[None]:
    """Drop what the system refuses to write to standard error while the block runs, so that it costs no results.

    Examples are a full disk, a pipe whose reader has left, and a terminal that is gone.
    """
    errors = sys.stderr
    if not isinstance(errors, TextIOWrapper) or not isinstance(_raw(errors), FileIO):  # None if the caller closed it
        yield
        return
    raw = _Forgiving(errors.fileno(), "w", closefd=False)
    sys.stderr = TextIOWrapper(BufferedWriter(raw), errors.encoding, errors.errors, line_buffering=True)
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = errors


def _raw(stream: TextIOWrapper) -> object:
    """Return what a stream writes to, which PYTHONUNBUFFERED leaves without a buffer."""
    return stream.buffer.raw if isinstance(stream.buffer, BufferedWriter) else stream.buffer


class _Forgiving(FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes, and return how many were written or dropped."""
        try:
            written = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written  # None, too, if it would have to wait


def _replace(given: TextIO, output: TextIO) -> None:
    sys.stdin, sys.stdout = given, output


def _flush(stream: TextIO | None) -> None:
    if stream is not None:  # None if the caller closed it
        stream.flush()


@contextmanager
def _redirected(descriptor: int, target: int) -> Iterator[None]:
    """Redirect a descriptor to `target`, if it is open."""
    try:
        saved = os.dup(descriptor)
    except OSError:
        yield
        return
    os.dup2(target, descriptor)
    try:
        yield
    finally:
        os.dup2(saved, descriptor)
        os.close(saved)


_FAILED, INTERRUPTED, _BROKEN_PIPE, _TERMINATED = 1, 130, 141, 143


class Terminated(KeyboardInterrupt):
    """The system sent SIGTERM, or the terminal was closed. It is handled like Ctrl-C."""


def _current(argument: str) -> str:
    """Return an argument, the name of an option of earlier releases by the present one."""
    name, sign, value = str(argument).partition("=")
    if name not in FORMER or not name.startswith("--"):
        return argument
    tell_deprecated(name, FORMER[name])
    return FORMER[name] + sign + value


# Deprecated commands and options, and what replaces them.
FORMER = {"doctor": "check", "--granularity": "--units"}


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
        """Return a subcommand, or None if there is no such subcommand. One that cannot be imported fails when
        it runs.
        """
        if cmd_name in FORMER:
            if not ctx.meta.setdefault(f"mase.{cmd_name}", False):
                tell_deprecated(f"mase {cmd_name}", f"mase {FORMER[cmd_name]}")
            ctx.meta[f"mase.{cmd_name}"] = True
            cmd_name = FORMER[cmd_name]
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
            return super().make_context(info_name, list(map(_current, args)), parent, **extra)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that was typed, with its name and its arguments, which messages are about."""
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


def tell_deprecated(what: str, instead: str) -> None:
    """Write a line about what is deprecated on standard error."""
    tell(f"mase: warning: {what} is deprecated and will be removed in 0.5; use {instead}")


def tell(message: str) -> None:
    """Write a line to standard error."""
    _write(_printable(message))


def _write(message: str) -> None:
    """Write to standard error, without colours if NO_COLOR is set."""
    click.echo(message, err=True, color=False if os.environ.get("NO_COLOR") else None)


def _printable(message: str) -> str:
    """Return `message` with control characters made visible, since messages quote texts, files and models."""
    from mase.render.marks import visible

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


COMMANDS = Registry(
    "command",
    {
        "explain": "mase.cli.explain:explain",
        "cite": "mase.cli.explain:cite",
        "run": "mase_corpora.cli:run",
        "status": "mase_corpora.cli:status",
        "summary": "mase_corpora.cli:summary",
        "compare": "mase_corpora.cli:compare",
        "serve": "mase_serve.cli:serve",
        "evaluate": "mase.cli.evaluate:evaluate",
        "check": "mase.cli.info:check",
        "models": "mase.cli.info:models",
        "methods": "mase.cli.info:methods",
    },
    "mase.commands",
)


@click.command(
    cls=LazyGroup,
    registry=COMMANDS,
    packages=dict.fromkeys(("data", "reproduce", "train"), "mase-xai-paper"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="mase %(version)s")
def main() -> None:
    """Explain the decisions of a text classifier, or the answers of a language model, by what they read: scores with
    error bars, fit quality and provenance.

    \b
      mase explain "The cast is superb, but the plot is dull."
      mase explain -i reviews.txt --html reviews.html -o reviews.jsonl
      mase run reviews.csv -o run
      mase cite -m MODEL --context minutes.txt --query "Who pays for the hall?"

    Results go to standard output, everything else to standard error.

    \b
    Exit codes
      0    success
      1    an error, or some texts could not be explained or evaluated
      2    unknown or missing command, option or value
      3    a limit of `mase compare` is exceeded
      130  interrupted (Ctrl-C); results written before are kept
      141  the reader of the output closed it early
      143  terminated (SIGTERM or SIGHUP); results written before are kept
    """
    # Show progress bars of Hugging Face on terminals only, like ours. The variable is read at its first import.
    if sys.stderr is None or not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
