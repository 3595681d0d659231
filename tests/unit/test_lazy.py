"""Tests of `mase.lazy`."""

import ast
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from json import decoder
from pathlib import Path
from types import ModuleType

import pytest

import mase
from mase.errors import MissingDependencyError
from mase.lazy import lazy_names, require


def test_names_are_found_in_their_modules_and_submodules_are_themselves():
    find, _ = lazy_names("json", [], {"JSONDecoder": "json.decoder", "decoder": "json.decoder"})
    assert find("JSONDecoder") is json.JSONDecoder
    assert find("decoder") is decoder
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'encoder'"):
        find("encoder")


def test_a_missing_package_is_named_before_the_import_fails():
    places, needs = {"Model": "shop.no_such_module"}, {"Model": [("json", "hf"), ("no_such_package", "hf")]}
    find, offer = lazy_names("shop", ["Model", "Book"], places, needs)
    with pytest.raises(MissingDependencyError, match=r"no_such_package is not installed.*mase-xai\[hf\]"):
        find("Model")
    assert offer() == ["Book"]


@pytest.mark.parametrize(
    "package", ["mase", "mase.models", "mase.metrics", "mase.designs", "mase.links", "mase.outputs"]
)
def test_completion_offers_names_that_are_not_imported_yet(package):
    module = import_module(package)
    missing = {name for name in module.__all__ if not is_installed(module, name)}
    assert set(module.__all__) == set(dir(module)) | missing
    assert missing.isdisjoint(dir(module))


def is_installed(module: ModuleType, name: str) -> bool:
    """Return whether the package that a name needs is installed."""
    try:
        getattr(module, name)
    except MissingDependencyError:
        return False
    return True


def test_a_module_that_a_test_puts_in_the_place_of_a_package_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))  # it has no `__spec__`
    require("pyarrow", "corpora")
    _, names = lazy_names("p", ["run"], {"run": "p.run"}, needs={"run": [("pyarrow", "corpora")]})
    assert names() == ["run"]


def names_for_checkers(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that a static checker finds in a module, for which TYPE_CHECKING is true."""
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "not TYPE_CHECKING"):
            yield from names_for_checkers(node.body if isinstance(node.test, ast.Name) else node.orelse)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        else:
            yield from (
                part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            )


LAZY = [
    path.parent
    for path in sorted(Path(mase.__file__).parent.rglob("__init__.py"))
    if "lazy_names(" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("folder", LAZY, ids=lambda folder: folder.name)
def test_checkers_know_the_lazy_names_of_a_package_and_no_others(folder):
    """With `__getattr__` in sight they would accept each misspelt name."""
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    module = import_module(".".join(("mase", *folder.relative_to(Path(mase.__file__).parent).parts)))
    names = set(names_for_checkers(tree.body))
    assert set(module.__all__) <= names
    assert not names & {"__getattr__", "__dir__"}
