"""Execute notebooks in this process and write their outputs into them: `python tools/notebooks.py [FILE...]`.

Without a name, all notebooks of the repository are executed. Outputs are the same on every run of one machine: times
are left out, and a path of the machine is an error. Each notebook runs in its own folder, as in Jupyter.
"""

import argparse
import ast
import contextlib
import io
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["execute", "main", "outputs"]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
# As `mase.render.wording:duration` writes it, with what stands between it and the fact before it.
_DURATION = re.compile(r" · [\d,.]+ (?:µs|ms|s|min|h)(?: \d+ (?:s|min))?(?!\w)")


def execute(path: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each code cell of a notebook with its outputs, as nbformat 4 has them.

    Raises
    ------
    ValueError
        If an output has a path of this machine.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(path.parent):
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            if cell["cell_type"] == "code":
                yield cell, outputs("".join(cell["source"]), namespace, f"{path.name}, cell {number}")


def outputs(source: str, namespace: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Return what a cell prints, and the value of its last expression.

    Raises
    ------
    ValueError
        If an output has a path of this machine.
    """
    tree, printed, value = ast.parse(source, place), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, place, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), namespace)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue(), place)})
    if value is not None:
        shown = {"text/plain": repr(value)}
        html = getattr(value, "_repr_html_", None)
        shown |= {"text/html": html()} if html else {}
        data = {kind: _lines(text, place) for kind, text in shown.items()}
        found.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return found


def _lines(text: str, place: str) -> list[str]:
    """Return an output as the lines of a notebook, without times."""
    for folder in (ROOT, Path(sys.prefix), Path.home(), Path(tempfile.gettempdir())):
        if f"{folder}/" in text:
            raise ValueError(f"{place}: an output has the path {folder}, expected none of this machine")
    return _DURATION.sub("", text).splitlines(keepends=True)


def main() -> None:
    """Execute the notebooks that are named, or all of them, and tell how much time of the processor each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="all, if none is named")
    named = [path.resolve() for path in parser.parse_args().notebooks]
    for path in named or sorted(FOLDER.glob("*.ipynb")):
        start, notebook = time.process_time(), json.loads(path.read_text(encoding="utf-8"))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, (cell, (_, found)) in enumerate(zip(code, execute(path), strict=True), 1):
            for output in found:
                if "execution_count" in output:
                    output["execution_count"] = number
            cell |= {"execution_count": number, "outputs": found}
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        sys.stderr.write(f"{path.name}: {time.process_time() - start:.1f} s\n")


if __name__ == "__main__":
    main()
