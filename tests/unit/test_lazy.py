"""Tests of `mase.lazy`."""

import json
import sys
from importlib import import_module
from json import decoder
from types import ModuleType

import pytest

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
    assert set(module.__all__) == set(dir(module))


def test_a_module_that_a_test_puts_in_the_place_of_a_package_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", ModuleType("pyarrow"))  # it has no `__spec__`
    require("pyarrow", "corpora")
    _, names = lazy_names("p", ["run"], {"run": "p.run"}, needs={"run": [("pyarrow", "corpora")]})
    assert names() == ["run"]
