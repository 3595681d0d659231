"""Tests of `mase.registry`; Names with settings, as in "focused(p_high=0.8)"."""

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
from mase.designs import DESIGNS
from mase.errors import MissingDependencyError, OptionError, UnknownNameError
from mase.methods import resolve
from mase.registry import Registry, lazy_names, require
from mase.spaces import SPACES


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


@pytest.mark.parametrize("package", ["mase", "mase.models", "mase.metrics", "mase.designs", "mase.outputs"])
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


def test_settings_in_a_name():
    design = DESIGNS.build(" focused( rounds=3; p_high = .8,softness=1e1 )")
    assert (design.rounds, design.p_high, design.softness, design.p_low) == (3, 0.8, 10.0, 0.1)
    assert SPACES.build("token-scale(reference='unk')").reference == "unk"
    assert resolve("mase", design="focused(n_top=7)").strategy.design.n_top == 7
    assert DESIGNS.build("iid") == DESIGNS["iid"]()


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("focuse(p_high=0.8)", UnknownNameError, "did you mean 'focused'"),
        ("focused(p_hig=0.8)", UnknownNameError, "did you mean 'p_high'"),
        ("iid(p_high=0.8)", UnknownNameError, "unknown setting of design 'iid'"),
        ("leave-one-out(p_high=0.8)", UnknownNameError, "known: none"),
        ("focused(p_high=0.8", OptionError, "NAME(SETTING=VALUE, ...)"),
        ("focused(p_high)", OptionError, "NAME(SETTING=VALUE, ...)"),
        ("focused(p_high=)", OptionError, "NAME(SETTING=VALUE, ...)"),
        ("focused(p_high=much)", OptionError, "the wrong type"),
        ("focused(p_high=2)", OptionError, "0 < p_low <= p_high < 1"),
    ],
)
def test_settings_that_cannot_be_read(text, error, said):
    with pytest.raises(error) as caught:
        DESIGNS.build(text)
    assert said in str(caught.value)


def test_what_is_shown_of_a_registry_are_its_names():
    assert repr(Registry("colour", {"red": "a:b", "blue": "c:d"})) == "<registry of 2 colours: red, blue>"


def test_a_name_of_earlier_versions_is_answered_with_a_warning():
    registry = Registry("colour", {"red": "mase.errors:MaseError"}, renamed={"rouge": "red"})
    with pytest.warns(FutureWarning, match="colour 'rouge' is now 'red'"):
        assert registry["rouge"] is registry["red"]
    assert "rouge" in registry
    assert "rouge" not in registry.names


def test_the_gaussian_process_is_answered_with_kernel_ridge():
    with pytest.warns(FutureWarning, match="kernel-ridge"):
        method = resolve("mase", estimator="gaussian-process(dof=3)")
    assert method == resolve("mase", estimator="kernel-ridge(dof=3)")
