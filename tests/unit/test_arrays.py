"""Tests of `mase.arrays`; Tests of `mase.arrays`: numbers of NumPy as options and as ids."""

import importlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np
import pytest

import mase
from mase.arrays import Floats, equal_fields
from mase.attribution.json import dumps, loads
from mase.designs.adaptive import Focused
from mase.errors import DataError, OptionError
from mase.estimators.boosted_trees import BoostedTrees
from mase.metrics.curves import NormalisedAopc
from mase.models.http.service import check_batch_size
from mase.models.language.answers import check_max_new_tokens
from mase.options import Stopping
from mase.procedures.games import PartitionShap
from mase.procedures.search import BeamSearch
from mase.sources.rows import Columns, DocumentColumns

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


def judge(texts):
    return [[0.75, 0.25] if "good" in text else [0.5, 0.5] for text in texts]


NUMBERS = {"batch_size": np.int64(3), "evidence": np.uint8(2), "seed": np.int32(1), "n_samples": np.int64(64)}


RULE = {"tolerance": np.float32(0.2), "stable_top": np.int16(1), "confidence": np.float32(0.75)}


def test_options_are_numbers_of_any_library():
    options, rule = ({name: number.item() for name, number in numbers.items()} for numbers in (NUMBERS, RULE))
    found, expected = (
        mase.Explainer(judge, **given, stopping=Stopping(**stops))("a good film is long")
        for given, stops in ((NUMBERS, RULE), (options, rule))
    )
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.method == expected.method
    assert loads(dumps(found)).method == expected.method
    zoomed = mase.Explainer(judge, units="sentence", zoom=np.int64(1))("A good film. It is long.").zoomed
    assert len(zoomed.units) == 3
    assert (check_batch_size(np.int64(3)), check_max_new_tokens(np.int64(3))) == (3, 3)


@pytest.mark.parametrize("option", [*NUMBERS, "zoom"])
@pytest.mark.parametrize("wrong", [True, np.True_, "3", -1, np.float64("nan")])
def test_other_values_are_refused(option, wrong):
    with pytest.raises(OptionError, match=f"{option} is"):
        mase.Explainer(judge, **{"units": "sentence", option: wrong})


@pytest.mark.parametrize("option", RULE)
@pytest.mark.parametrize("wrong", [True, np.True_, "3", -1, np.float64("nan")])
def test_other_values_of_stopping_rules_are_refused(option, wrong):
    with pytest.raises(OptionError, match=f"{option} is"):
        Stopping(**{option: wrong})


@pytest.mark.parametrize("wrong", [0, 2.5, True, "3", None])
@pytest.mark.parametrize(
    ("part", "option"),
    [
        (BeamSearch, "beam"),
        (PartitionShap, "per_round"),
        (BoostedTrees, "depth"),
        (Focused, "rounds"),
        (NormalisedAopc, "beam"),
    ],
)
def test_parts_of_methods_refuse_other_values_too(part, option, wrong):
    with pytest.raises(OptionError, match=f"{option} is {wrong!r}, expected an integer >= 1"):
        part(**{option: wrong})


def test_ids_are_integers_of_any_library():
    columns = Columns(DocumentColumns("text"), id="id")
    assert columns.item(0, {"text": "a", "id": np.int64(7)}).id == "7"
    for wrong in (True, 7.0, np.float64(7)):
        with pytest.raises(DataError, match="expected a string or an integer"):
            columns.item(0, {"text": "a", "id": wrong})
