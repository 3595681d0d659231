"""Messages of the library in the words of the command: an option where they name a parameter of Python."""

import re
import shlex
from collections.abc import Iterator, Sequence

import click

__all__ = ["note_call", "spelled"]

_CALL = "mase.cli.spelling"
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

    def replaced(found: re.Match[str]) -> str:
        if found["parameter"] is not None:
            return all_in(found["parameter"])
        if found["subject"] is not None:
            is_meant = not typed.isdisjoint(re.findall(_NAME, found["subject"])) or "_" in found["subject"]
            return found["place"] + (all_in(found["subject"]) if is_meant else found["subject"])
        if found["name"] is not None:
            one_or_list = options.get(found["name"]) or options.get(f"{found['name']}s")  # as in --methods
            return _with_value(one_or_list, found["value"]) or found[0]
        return found[0]

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
