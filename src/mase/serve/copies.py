"""An explanation as Python and as a command, which give the same scores."""

import csv
import json
import shlex
from io import StringIO
from typing import Any

import msgspec

from mase.citing import sources
from mase.models.code_reference import is_code
from mase.serve.answering import prompt_of
from mase.serve.messages import CITE, Explain, Open, Settings

__all__ = ["command", "command_of_answer", "python", "python_of_answer"]

_EXPLAIN = Settings(evidence=0)


def python(model: Open, ask: Explain) -> str:
    """Return Python code that makes an explanation."""
    given = _arguments(_given(ask.settings, _EXPLAIN))
    classes = _arguments({"target": ask.target, "against": ask.against})
    imports, opened = _opened(model)
    lines = [*imports, "", f"explainer = mase.Explainer({opened}{given})", f"found = explainer({ask.text!r}{classes})"]
    return "\n".join([*lines, "print(found)", ""])


def python_of_answer(model: Open, ask: Explain) -> str:
    """Return Python code that finds the sources of an answer of a language model."""
    context, query, answer = prompt_of(ask.text)
    asked = {"context": _shortest(context), "query": query or None, "answer": answer, "against": ask.against}
    imports, opened = _opened(model)
    given = _arguments(asked | _given(ask.settings, CITE))
    return "\n".join([*imports, "", f"found = mase.cite({opened}{given})", "print(found)", ""])


def command(model: Open, ask: Explain) -> str:
    """Return a command for a POSIX shell that makes an explanation."""
    classes = {"target": ask.target, "against": ask.against}
    options = {"model": model.model} | _given(ask.settings, _EXPLAIN) | classes
    text = ask.text
    if not isinstance(text, str):
        options |= {"fields": tuple(text)}
        text = json.dumps(text, ensure_ascii=False)
    return shlex.join(["mase", "explain", *_options(options), "--", text])


def command_of_answer(model: Open, ask: Explain) -> str:
    """Return commands for a POSIX shell that find the sources of an answer; the texts become files in a new folder."""
    context, query, answer = prompt_of(ask.text)
    asked = {"server": model.server, "model": model.model, "query": query or None, "answer": answer}
    options = asked | {"against": ask.against} | _given(ask.settings, CITE)
    files = {f'"$texts"/{shlex.quote(name.replace("/", "_"))}': text for name, text in context.items()}
    written = [f"printf %s {shlex.quote(text)} > {file}" for file, text in files.items()]
    cite = f"{shlex.join(['mase', 'cite', *_options(options)])} --context {' '.join(files)}"
    return " &&\n".join(["texts=$(mktemp -d)", *written, cite])


def _opened(model: Open) -> tuple[list[str], str]:
    """Return the imports and the expression of a model."""
    if model.server is not None:
        return ["import mase"], f"mase.models.CompletionServer({model.server!r}, {model.model!r})"
    if is_code(model.model):
        return ["import mase", "from mase.models.code_reference import open_code"], f"open_code({model.model!r})"
    return ["import mase"], repr(model.model)


def _shortest(context: dict[str, str]) -> str | list[str] | dict[str, str]:
    """Return texts in the shortest form in which they have these names: one text, a list, or a mapping."""
    texts = list(context.values())
    forms: list[str | list[str]] = [texts, *texts[:1]]
    return next((form for form in forms if sources(form) == sources(context)), context)


def _arguments(given: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)


def _options(given: dict[str, Any]) -> list[str]:
    """Return options in the form with an equals sign, which is right for values that begin with a dash, too."""
    return [f"--{name.replace('_', '-')}={_written(value)}" for name, value in given.items() if value is not None]


def _written(value: Any) -> str:
    """Return a value as an option of the command takes it: names are separated by commas."""
    if isinstance(value, dict):
        value = tuple(f"{name}={json.dumps(content)}" for name, content in value.items())
    if not isinstance(value, tuple):
        return str(value)
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def _given(settings: Settings, defaults: Settings) -> dict[str, Any]:
    """Return the settings that are not the defaults of a plain call."""
    return {name: value for name, value in msgspec.structs.asdict(settings).items() if value != getattr(defaults, name)}
