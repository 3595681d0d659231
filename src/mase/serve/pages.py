"""The page of the workbench and its files, which are read once: no request leads to a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from mase.render.html import PALETTES, answer_style, style
from mase.render.templates import resource, templates

__all__ = ["File", "files", "workbench"]

_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page."""

    content: bytes
    media_type: str


def files() -> Mapping[str, File]:
    """Return the files of the page by name, with the style sheets and the scripts of articles."""
    sheet = style() + answer_style() + resource("mase.render", "palettes.css") + resource("mase.render", "trial.css")
    found = {"style.css": File(sheet.encode(), _TYPES[".css"])}
    for package in ("mase.render", "mase.serve"):
        for file in resources.files(package).joinpath("static").iterdir():
            media_type = _TYPES.get(file.name[file.name.rfind(".") :])
            if media_type is not None:
                found[file.name] = File(file.read_bytes(), media_type)
    return found


def workbench(choices: Mapping[str, Any]) -> str:
    """Return the page with these choices."""
    return templates("mase.serve").get_template("templates/workbench.html").render(choices=choices, palettes=PALETTES)
