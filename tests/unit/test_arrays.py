"""Tests of `mase.arrays`."""

import importlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np
import pytest

import mase
from mase.arrays import Floats, equal_fields

# The packages whose names are public, with the dataclasses that hold an array.
PACKAGES = ("designs", "estimators", "metrics", "models", "procedures")
HOLDERS = {
    value
    for package in PACKAGES
    for module in [importlib.import_module(f"mase.{package}")]
    for value in (getattr(module, name) for name in module.__all__)
    if is_dataclass(value) and value.__dataclass_params__.frozen
    if any("ndarray" in str(hint) for hint in get_type_hints(value).values())
}
DESIGNS = {type(design) for name in mase.designs.DESIGNS if hasattr(design := mase.designs.DESIGNS[name](), "sigma")}


def made(kind, array, **changed):
    """Return a value all of whose fields are arrays that are equal to `array`, but no same objects."""
    value = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(value, field.name, changed.get(field.name, array.copy()))
    return value


@pytest.mark.parametrize("kind", sorted(HOLDERS | DESIGNS, key=str), ids=lambda kind: kind.__name__)
def test_values_with_arrays_are_compared_as_wholes(kind):
    array = np.array([1.0, np.nan, 3.0])
    value = made(kind, array)
    assert (value == made(kind, array)) is True
    for field in fields(kind):
        for other in (np.array([1.0, np.nan, 4.0]), array[:2], np.zeros((3, 1)), None, 1.0):
            assert (value == made(kind, array, **{field.name: other})) is False
            assert (made(kind, array, **{field.name: other}) != value) is True
    assert value != "a"


def test_the_values_that_were_compared_are_those_of_the_library():
    assert {"Binding", "Sample", "Problem", "Estimate", "Instance"} <= {kind.__name__ for kind in HOLDERS}
    assert {"Iid", "Path"} <= {kind.__name__ for kind in DESIGNS}


def test_tuples_of_arrays_and_a_method_with_a_covariance_are_compared():
    @dataclass(frozen=True)
    class Pair:
        both: tuple[Floats, ...]
        name: Any = "a"

        __eq__ = equal_fields

    assert Pair((np.ones(2), np.zeros(1))) == Pair((np.ones(2), np.zeros(1)))
    assert Pair((np.ones(2), np.zeros(1))) != Pair((np.ones(2), np.ones(1)))
    assert Pair((np.ones(2),)) != Pair((np.ones(2), np.ones(1)))
    assert Pair((), np.array(["a", "b"])) == Pair((), np.array(["a", "b"]))
    methods = [mase.methods.resolve("mase-nlgp", sigma=np.diag([0.1, value])) for value in (0.1, 0.1, 0.2)]
    assert methods[0] == methods[1] != methods[2]
