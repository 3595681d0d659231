"""An explanation as Python and as a command, which give the same scores."""

import shlex
from typing import Any

import msgspec

from mase.models.code_reference import is_code
from mase.serve.messages import Explain, Settings

__all__ = ["command", "python"]


def python(model: str, ask: Explain) -> str:
    """Return Python code that makes an explanation."""
    given = "".join(f", {name}={value!r}" for name, value in _given(ask.settings).items())
    target = "" if ask.target is None else f", target={ask.target!r}"
    lines = ["import mase"]
    opened = repr(model)
    if is_code(model):
        lines.append("from mase.models.code_reference import open_code")
        opened = f"open_code({model!r})"
    lines += ["", f"explainer = mase.Explainer({opened}{given})", f"found = explainer({ask.text!r}{target})"]
    return "\n".join([*lines, "print(found)", ""])


def command(model: str, ask: Explain) -> str:
    """Return a command for a POSIX shell that makes an explanation."""
    options = {"model": model} | _given(ask.settings) | ({} if ask.target is None else {"target": ask.target})
    # The form with an equals sign is right for values that begin with a dash, too.
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return shlex.join(["mase", "explain", *given, "--", ask.text])


def _given(settings: Settings) -> dict[str, Any]:
    """Return the settings that are not the defaults of a plain call."""
    defaults = Settings(evidence=0)
    return {name: value for name, value in msgspec.structs.asdict(settings).items() if value != getattr(defaults, name)}
