"""Notebooks as pages of the site: their text, their code, and what it showed."""

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "markdown", "names"]

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
# What pandas adds to a table, which the site has a style for.
_PANDAS = re.compile(
    r'<style scoped>.*?</style>\n?| border="1" class="dataframe"| style="text-align: right;"', re.DOTALL
)


def names() -> list[str]:
    """Return the names of the notebooks, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def markdown(name: str) -> str:
    """Return a notebook as Markdown, with a link to the file below its title."""
    title, *parts = [
        part
        for cell in json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        for part in _parts(cell)
    ]
    heading, _, rest = title.partition("\n")
    note = f"*This page is [a notebook](../../notebooks/{name}.ipynb), with the outputs of its last run.*"
    return "\n\n".join([heading, note, rest.strip(), *parts]) + "\n"


def _parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [f"```python\n{source}\n```", *map(_shown, cell["outputs"])]


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return _PANDAS.sub("", "".join(data["text/html"]).strip())
    text = "".join(data.get("text/plain", output.get("text", []))).rstrip("\n")
    return f"```text\n{text}\n```"
