"""Count what this project is made of, and what one explanation walks through.

    python tools/census.py            # as a table
    python tools/census.py --json     # as JSON

A walk is a second explanation of one text, in this process: the modules below src/ whose functions run, and the deepest
stack of their frames. Module bodies do not count. A fork is an `isinstance` on a protocol of this project.
"""

import argparse
import ast
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
TEXT = "A dull start, but the last hour is wonderful."


def tracked(*patterns: str) -> list[Path]:
    """Return the tracked files that match."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


def words(paths: list[Path]) -> int:
    """Return the number of words in files."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def trees() -> dict[Path, ast.Module]:
    """Return the syntax trees of the packages."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in tracked("src/*.py")}


def protocols(modules: dict[Path, ast.Module]) -> set[str]:
    """Return the names of all protocols."""
    return {
        node.name
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(
            getattr(base, "id", getattr(getattr(base, "value", None), "id", "")) == "Protocol" for base in node.bases
        )
    }


def forks(modules: dict[Path, ast.Module]) -> int:
    """Return the number of `isinstance` tests of a part against a protocol."""
    names = protocols(modules)
    return sum(
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "isinstance"
        and bool(names & {getattr(inner, "id", "") for inner in ast.walk(node.args[1])})
        for tree in modules.values()
        for node in ast.walk(tree)
    )


def module_name(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Yield the modules of this project that a module imports, inside functions too, but not for type checkers."""
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                module = f"{node.module}.{name.name}" if f"{node.module}.{name.name}" in names else node.module
                if module in names:
                    yield module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in names)


def circles(modules: dict[Path, ast.Module]) -> list[list[str]]:
    """Return the groups of modules that import each other, imports inside functions included."""
    names = {module_name(path) for path in modules}
    graph = {module_name(path): {*imported(tree, names)} for path, tree in modules.items()}
    found, index, low, stack = [], {}, {}, []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node] - {node}:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def walk(call: Callable[[], Any]) -> dict[str, int]:
    """Return how many modules and functions the second call runs, and how deep their frames stand."""
    call()
    files, functions, deepest, depth = set(), set(), 0, 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest, depth
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(str(SOURCES)):
            return
        depth += 1 if event == "call" else -1
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)
            functions.add(frame.f_code)
            deepest = max(deepest, depth)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {"modules": len(files), "functions": len(functions), "depth": deepest}


def walks() -> dict[str, dict[str, int]]:
    """Return the walks of a function, a bundled model, an answer and a corpus."""
    import mase
    from mase.models import load

    def function(texts: list[str]) -> list[list[float]]:
        return [[0.8, 0.2] if "dull" in text else [0.3, 0.7] for text in texts]

    explainers = {
        "function": mase.Explainer(function),
        "lstm-imdb": mase.Explainer(load("lstm-imdb")),
        "lstm-imdb, kernel-shap": mase.Explainer(load("lstm-imdb"), method="kernel-shap"),
    }
    found = {name: walk(lambda one=one: one(TEXT)) for name, one in explainers.items()}
    with contextlib.redirect_stderr(io.StringIO()), tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(9))

        def corpus() -> None:
            mase.run([TEXT] * 3, Path(folder, str(next(numbers))), model="lstm-imdb", jobs=1, engine="here")

        found["a corpus in this process"] = walk(corpus)
    return found


def options() -> int:
    """Return how many different options the commands show."""
    import click

    from mase.cli import COMMANDS

    def of(command: click.Command) -> set[str]:
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        shown = (option for option in command.params if not getattr(option, "hidden", False))
        own = {name for option in shown for name in option.opts if name.startswith("--")}
        return own.union(*map(of, inner))

    return len(set().union(*(of(COMMANDS[name]) for name in COMMANDS.entries)))


def census() -> dict[str, Any]:
    """Return all figures."""
    import mase

    modules = trees()
    packages = sorted({path.relative_to(SOURCES).parts[0] for path in modules})
    parameters = signature(mase.Explainer).parameters.values()
    return {
        "files": len(modules),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules),
        "packages": packages,
        "longest module": max(len(path.read_text(encoding="utf-8").splitlines()) for path in modules),
        "protocols": len(protocols(modules)),
        "forks on parts": forks(modules),
        "circles": [len(group) for group in circles(modules)],
        "names in mase": len(mase.__all__),
        "parameters of Explainer": sum(one.kind is not Parameter.VAR_KEYWORD for one in parameters),
        "options": options(),
        "tracked files": len(tracked()),
        "words of README": words([ROOT / "README.md"]),
        "words of docs": words(tracked("docs/*.md")),
        "words of experiments": words(tracked("experiments/*.md")),
        "words of the changelog": words([ROOT / "CHANGELOG.md"]),
        "walks": walks(),
    }


def main() -> None:
    """Print the census."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    found = census()
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    for name, value in found.items():
        if name == "walks":
            for walked, figures in value.items():
                sys.stdout.write(f"{walked:32}{figures['modules']:>6} modules, depth {figures['depth']}\n")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            sys.stdout.write(f"{name:32}{shown:>6}\n")


if __name__ == "__main__":
    main()
