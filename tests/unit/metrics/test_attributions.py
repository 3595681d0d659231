"""Tests of `mase.metrics.attributions`."""

import json

import pytest

from mase.errors import DataError
from mase.metrics.attributions import read_attributions

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
