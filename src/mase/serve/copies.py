"""An explanation as Python and as a command, which give the same scores."""

import csv
import json
import shlex
from io import StringIO
from typing import Any

import msgspec

from mase.models.code_reference import is_code
from mase.serve.messages import Explain, Settings

__all__ = ["command", "python"]


def python(model: str, ask: Explain) -> str:
    """Return Python code that makes an explanation."""
    given = "".join(f", {name}={value!r}" for name, value in _given(ask.settings).items())
    asked = {"target": ask.target, "against": ask.against}
    classes = "".join(f", {name}={value!r}" for name, value in asked.items() if value is not None)
    lines = ["import mase"]
    opened = repr(model)
    if is_code(model):
        lines.append("from mase.models.code_reference import open_code")
        opened = f"open_code({model!r})"
    lines += ["", f"explainer = mase.Explainer({opened}{given})", f"found = explainer({ask.text!r}{classes})"]
    return "\n".join([*lines, "print(found)", ""])


def command(model: str, ask: Explain) -> str:
    """Return a command for a POSIX shell that makes an explanation."""
    classes = {"target": ask.target, "against": ask.against}
    options = {"model": model} | _given(ask.settings) | {name: one for name, one in classes.items() if one is not None}
    text = ask.text
    if not isinstance(text, str):
        options |= {"fields": tuple(text)}
        text = json.dumps(text, ensure_ascii=False)
    # The form with an equals sign is right for values that begin with a dash, too.
    given = [f"--{name.replace('_', '-')}={_written(value)}" for name, value in options.items()]
    return shlex.join(["mase", "explain", *given, "--", text])


def _written(value: Any) -> str:
    """Return a value as an option of the command takes it: names are separated by commas."""
    if isinstance(value, dict):
        value = tuple(f"{name}={json.dumps(content)}" for name, content in value.items())
    if not isinstance(value, tuple):
        return str(value)
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def _given(settings: Settings) -> dict[str, Any]:
    """Return the settings that are not the defaults of a plain call."""
    defaults = Settings(evidence=0)
    return {name: value for name, value in msgspec.structs.asdict(settings).items() if value != getattr(defaults, name)}
