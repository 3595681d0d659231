"""The scripts of the repository import only what the packages still have: nothing else runs most of them."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("experiments", "benchmarks", "tools", "examples", "notebooks")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
if not SCRIPTS:
    pytest.skip("the scripts are in the repository only", allow_module_level=True)


def imported(path):
    """Return the modules of the packages and the names that a script imports from each; None is the module itself."""
    pairs = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            pairs += [(node.module, one.name) for one in node.names]
        elif isinstance(node, ast.Import):
            pairs += [(one.name, None) for one in node.names]
    return [(module, name) for module, name in pairs if module.split(".")[0] in ("mase", "mase_paper")]


def exists(module, name):
    """Return whether a module of the packages exists, and has the name or a module of that name."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        return not (error.name or "").startswith("mase")  # without an extra, nobody can say
    if name is None or hasattr(found, name):
        return True
    return hasattr(found, "__path__") and exists(f"{module}.{name}", None)


@pytest.mark.slow
def test_what_scripts_import_exists():
    wrong = {
        path.relative_to(ROOT).as_posix(): [pair for pair in imported(path) if not exists(*pair)] for path in SCRIPTS
    }
    assert {path: pairs for path, pairs in wrong.items() if pairs} == {}
