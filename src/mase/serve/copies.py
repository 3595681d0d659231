"""An explanation as Python and as a command, which give the same scores."""

import csv
import json
import shlex
from collections.abc import Iterable
from io import StringIO
from itertools import count
from typing import Any, TypeVar

import msgspec

from mase.citing import sources
from mase.models.code_reference import is_code
from mase.serve.answering import prompt_of
from mase.serve.messages import CITE, Explain, Open, Settings

__all__ = ["command", "command_of_answer", "python", "python_of_answer"]

_EXPLAIN = Settings()

S = TypeVar("S", bound=msgspec.Struct)


def python(model: Open, ask: Explain) -> str:
    """Return Python code that makes an explanation."""
    given = _arguments(_given(ask.settings, _EXPLAIN))
    classes = _arguments({"target": ask.target, "against": ask.against})
    before, opened = _opened(model)
    lines = [*before, f"explainer = mase.Explainer({opened}{given})", f"found = explainer({ask.text!r}{classes})"]
    return "\n".join([*lines, "print(found)", ""])


def python_of_answer(model: Open, ask: Explain) -> str:
    """Return Python code that finds the sources of an answer of a language model."""
    context, query, answer = prompt_of(ask.text)
    asked = {"context": _shortest(context), "query": query or None, "answer": answer, "against": ask.against}
    before, opened = _opened(model)
    given = _arguments(asked | _given(ask.settings, CITE))
    return "\n".join([*before, f"found = mase.cite({opened}{given})", "print(found)", ""])


def command(model: Open, ask: Explain) -> str:
    """Return a command for a POSIX shell that makes an explanation."""
    classes = {"target": ask.target, "against": ask.against}
    options = {"model": model.model} | _loading(model) | _given(ask.settings, _EXPLAIN) | classes
    text = ask.text
    if not isinstance(text, str):
        options |= {"fields": tuple(text)}
        text = json.dumps(text, ensure_ascii=False)
    return shlex.join(["mase", "explain", *_options(options), "--", text])


def command_of_answer(model: Open, ask: Explain) -> str:
    """Return commands for a POSIX shell that find the sources of an answer; the texts become files in a new folder."""
    context, query, answer = prompt_of(ask.text)
    opened = {"server": model.server, "model": model.model} | _loading(model)
    options = opened | {"query": query or None, "answer": answer, "against": ask.against} | _given(ask.settings, CITE)
    files = [f'"$texts"/{shlex.quote(name)}' for name in _file_names(context)]
    written = [f"printf %s {shlex.quote(text)} > {file}" for file, text in zip(files, context.values(), strict=True)]
    cite = f"{shlex.join(['mase', 'cite', *_options(options)])} --context {' '.join(files)}"
    return " &&\n".join(["texts=$(mktemp -d)", *written, cite])


def _file_names(names: Iterable[str]) -> list[str]:
    """Return a name of a file for each name, without slashes: the name itself, or one that no other has."""
    names = list(names)
    taken, found = set(names), []
    for name in names:
        file = plain = name.replace("/", "_")
        numbers = count(2)
        while file != name and file in taken:
            file = f"{plain}_{next(numbers)}"
        taken.add(file)
        found.append(file)
    return found


def _opened(model: Open) -> tuple[list[str], str]:
    """Return the lines before a model is used, and the expression of the model."""
    options = _loading(model)
    threads = options.pop("threads", None)
    imports, setup = ["import mase"], [] if threads is None else [f"configure({threads})"]
    if model.server is not None:
        opened = f"mase.models.CompletionServer({model.server!r}, {model.model!r})"
    elif is_code(model.model):
        imports.append("from mase.models.code_reference import open_code")
        opened = f"open_code({model.model!r})"
    else:
        opened = f"mase.models.load({model.model!r}{_arguments(options)})" if options else repr(model.model)
    imports += ["from mase.models.runtime import configure"] if setup else []
    return [*imports, "", *setup], opened


def _loading(model: Open) -> dict[str, Any]:
    """Return the options with which a model is loaded that are not the defaults. Code and servers take threads only."""
    given = _given(model, Open(model.model, server=model.server))
    loaded = model.server is None and not is_code(model.model)
    return given if loaded else {name: value for name, value in given.items() if name == "threads"}


def _shortest(context: dict[str, str]) -> str | list[str] | dict[str, str]:
    """Return texts in the shortest form in which they have these names: one text, a list, or a mapping."""
    texts = list(context.values())
    forms: list[str | list[str]] = [texts, *texts[:1]]
    return next((form for form in forms if sources(form) == sources(context)), context)


def _arguments(given: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)


def _options(given: dict[str, Any]) -> list[str]:
    """Return options in the form with an equals sign, which is right for values that begin with a dash, too."""
    written = {f"--{name.replace('_', '-')}": value for name, value in given.items() if value is not None}
    return [name if value is True else f"{name}={_written(value)}" for name, value in written.items()]


def _written(value: Any) -> str:
    """Return a value as an option of the command takes it: names are separated by commas."""
    if isinstance(value, dict):
        value = tuple(f"{name}={json.dumps(content)}" for name, content in value.items())
    if not isinstance(value, tuple):
        return str(value)
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def _given(settings: S, defaults: S) -> dict[str, Any]:
    """Return the settings that are not the defaults."""
    return {name: value for name, value in msgspec.structs.asdict(settings).items() if value != getattr(defaults, name)}
