"""Tests of `mase.metrics.attributions`."""

import json

import numpy as np
import pandas as pd
import pytest

from mase.errors import DataError, OptionError, ShapeError
from mase.metrics.attributions import per_text, read_attributions

PAIRS = [["a", 0.0], ["good", 1.0], ["film", 0.5]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (json.dumps(PAIRS), [PAIRS]),
        (json.dumps([PAIRS, PAIRS]), [PAIRS, PAIRS]),
        (json.dumps(PAIRS) + "\n\n" + json.dumps({"good": 1.0}) + "\n", [PAIRS, {"good": 1.0}]),
        (json.dumps([{"good": 1}, {"film": 2}], indent=2), [{"good": 1}, {"film": 2}]),
        ("[0.5, 1.0]", [[0.5, 1.0]]),
        ("[0.5, 1.0]\n[[0.5, 1.0], [2.0, 3.0]]", [[0.5, 1.0], [[0.5, 1.0], [2.0, 3.0]]]),
        ("[[0.5, 1.0], [2.0, 3.0]]", [[0.5, 1.0], [2.0, 3.0]]),
    ],
)
def test_lists_of_pairs_in_order(tmp_path, content, expected):
    path = tmp_path / "pairs.json"
    path.write_text(content, encoding="utf-8")
    found = read_attributions(path)
    assert [found.of("any", row) for row in range(1, len(expected) + 1)] == expected
    with pytest.raises(DataError, match=f"expected one for row {len(expected) + 1}"):
        found.of("any", len(expected) + 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("[]", "is empty"),
        ("\n \n", "is empty"),
        ("nonsense", "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ("3", "entry 1 is a int"),
        ('{"schema": "mase.error/1"}', "failures only"),
        ('{"schema": "mase.attribution/2"}\n[["a", 1]]', "mixes"),
        ('{"schema": "other/1"}', "schema 'other/1'"),
    ],
)
def test_files_that_hold_no_attributions(tmp_path, content, message):
    path = tmp_path / "wrong.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_attributions(path)


class Indexed:
    """Several attributions with a length and no iterator, as a `shap.Explanation` of several texts."""

    def __len__(self):
        return 2

    def __getitem__(self, number):
        return (1.0, 2.0)[number]


@pytest.mark.parametrize(
    "entries",
    [[1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]), pd.Series([1.0, 2.0], index=[7, 3]), Indexed()],
)
def test_attributions_of_several_texts(entries):
    given = {"mine": entries, "drawn": (one for one in "ab")}
    assert per_text(given, 2) == [{"mine": 1.0, "drawn": "a"}, {"mine": 2.0, "drawn": "b"}]
    with pytest.raises(ShapeError, match="'mine' has 2 attributions for 3 texts, expected one per text"):
        per_text({"mine": entries}, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1, 2]], "attributions is of type list, expected a mapping from a name"),
        ("mine", "attributions is of type str, expected a mapping"),
        ({"x": {"a": 1}}, "attributions of 'x' are of type dict, expected a list with one per text"),
        ({"x": "a"}, "attributions of 'x' are of type str"),
        ({"x": {1}}, "attributions of 'x' are of type set"),
        ({"x": 3}, "attributions of 'x' are of type int"),
    ],
)
def test_what_is_not_several_attributions(given, message):
    with pytest.raises(OptionError, match=message):
        per_text(given, 1)
