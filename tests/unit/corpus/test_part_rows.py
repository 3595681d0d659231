"""Tests of the rows of a part: those of a run are accepted, and each value out of its place is refused."""

import numpy as np
import pyarrow as pa
import pytest

from mase.corpus.columns import TABLES, schema
from mase.corpus.part_rows import check_rows
from mase.errors import DataError

IDS = pa.chunked_array([["a", "b"]])
SLICE = range(10, 12)
ROWS = {
    "texts": [
        {"id": "a", "row": 10, "prediction": "pos", "probability": 0.9, "n_queries": 5, "split_half": None},
        {"id": "b", "row": 11, "error": "EmptyTextError"},
    ],
    "responses": [
        {"id": "a", "row": 10, "response": name, "link": "margin", "value": 1.0, "intercept": 0.0, "r2": None}
        for name in ("pos", "neg")
    ],
    "units": [
        {"id": "a", "row": 10, "response": response, "position": position, "field": field, "start": start,
         "end": start + 2, "text": "ab", "score": 0.5, "kept": 0.2, "kept_error": 0.1, "rank": 1}
        for response in ("pos", "neg")
        for position, (field, start) in enumerate([("one", 0), ("one", 3), ("two", 0)])
    ],
    "timings": [{"id": "a", "row": 10, "seconds": 0.1}, {"id": "b", "row": 11, "seconds": 0.0}],
}  # fmt: skip


def check(table, rows):
    check_rows(table, pa.Table.from_pylist(rows, schema(table)), SLICE, IDS, "here")


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_a_run(table):
    check(table, ROWS[table])
    if table != "texts":
        check(table, [])


@pytest.mark.parametrize(
    ("table", "index", "changes"),
    [
        *((table, 0, {"row": 9}) for table in TABLES),
        *((table, 0, {"row": 11}) for table in TABLES),
        *((table, -1, {"row": 12}) for table in TABLES),
        *((table, -1, {"row": None}) for table in TABLES),
        *((table, 0, {"id": "b"}) for table in TABLES),
        *((table, 0, {"id": None}) for table in TABLES),
        *(("texts", 0, {"probability": value}) for value in (np.nan, np.inf, 1.5)),
        ("texts", 0, {"prediction": None}),
        ("texts", 0, {"n_queries": -1}),
        ("texts", 1, {"split_half": 2.0}),
        ("responses", 1, {"response": "pos"}),
        ("responses", 1, {"response": None}),
        ("responses", 0, {"link": None}),
        ("responses", 0, {"value": np.nan}),
        ("responses", 0, {"intercept": None}),
        ("responses", 0, {"r2": 1.5}),
        *(("units", 2, {"score": value}) for value in (None, np.nan, -np.inf)),
        *(("units", 2, {"standard_error": value}) for value in (-1.0, np.nan, np.inf)),
        *(("units", 2, {name: np.inf}) for name in ("removed", "kept")),
        *(("units", 2, {f"{name}_error": value}) for name in ("removed", "kept") for value in (-1.0, np.nan)),
        ("units", 2, {"rank": 0}),
        ("units", 1, {"position": 2}),
        ("units", 3, {"position": 3}),
        ("units", 1, {"start": 1}),
        ("units", 1, {"start": -1}),
        ("units", 1, {"end": 3}),
        ("units", 2, {"text": None}),
        ("units", 3, {"response": "pos"}),
        ("units", 2, {"field": "one"}),
        ("timings", 0, {"seconds": -1.0}),
    ],
)
def test_a_value_out_of_its_place(table, index, changes):
    rows = [dict(row) for row in ROWS[table]]
    rows[index] |= changes
    with pytest.raises(DataError, match="here"):
        check(table, rows)


def test_rows_that_are_missing_or_twice():
    with pytest.raises(DataError):
        check("texts", ROWS["texts"][:1])
    for table in TABLES:
        with pytest.raises(DataError):
            check(table, [row for row in ROWS[table] for _ in (0, 1)])


def test_units_of_a_field_in_two_places():
    units = ROWS["units"][:3]
    with pytest.raises(DataError):
        check("units", [*units, units[0] | {"position": 3}])


def test_only_a_model_of_values_has_no_probabilities():
    explained = {"prediction": "value", "n_queries": 5}
    texts = [{"id": "a", "row": 10} | explained, {"id": "b", "row": 11} | explained]
    check("texts", texts)
    with pytest.raises(DataError, match="without 'probability'"):
        check("texts", [texts[0] | {"probability": 0.9}, texts[1]])
