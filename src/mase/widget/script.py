"""The script and the style of the widget: one module that imports nothing, as anywidget needs it."""

import re

from mase.render.html import answer_style, style
from mase.render.templates import resource

__all__ = ["script", "sheet"]

# Scripts that the workbench shares, each after those that it imports.
_SHARED = ("words.js", "citations.js", "numbers.js", "parts.js", "trial.js")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[\w-]+\.js";\n', re.MULTILINE)
_PACKAGE = "mase.widget"


def script() -> str:
    """Return the shared scripts and that of the widget as one module, without their imports of each other."""
    shared = [_IMPORT.sub("", resource("mase.render", f"static/{name}")) for name in _SHARED]
    return "\n".join([*shared, resource(_PACKAGE, "widget.js")])


def sheet() -> str:
    """Return the style sheet of the view, which is applied inside of a shadow root only."""
    return style() + answer_style() + resource("mase.render", "trial.css") + resource(_PACKAGE, "widget.css")
