"""Tests of `mase.tables`: tables of several libraries, and lists of records, as documents."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mase
from mase.errors import InvalidTextError, OptionError
from mase.models import Callable
from mase.tables import check_fields, documents

COLUMNS = {
    "premise": ["It rains today.", "All is quiet."],
    "hypothesis": ["The street is wet.", "There is noise."],
    "age": [40, 7],
    "label": ["yes", "no"],
}
FIELDS = ["premise", "hypothesis", "age"]
ROWS = [dict(zip(FIELDS, row, strict=True)) for row in zip(*(COLUMNS[name] for name in FIELDS), strict=True)]


def of_polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def of_datasets(columns):
    return pytest.importorskip("datasets").Dataset.from_dict(columns)


LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas with types of Arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
    "polars": of_polars,
    "datasets": of_datasets,
    "records": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
}


def entails(records):
    """More probable with "wet" in the hypothesis, "rains" in the premise, and age."""
    logits = [
        2 * ("wet" in record["hypothesis"]) + ("rains" in record["premise"]) + record["age"] / 40 for record in records
    ]
    return [[1 - p, p] for p in 1 / (1 + np.exp(-np.array(logits)))]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_rows_of_a_table_are_explained_as_records(library):
    table = LIBRARIES[library](COLUMNS)
    explainer = mase.Explainer(Callable(entails, ["no", "yes"]), background={"age": 0}, n_samples=64)
    found = explainer(table, fields=FIELDS, target="yes")
    expected = explainer(ROWS, target="yes")
    assert [one.scores.tolist() for one in found] == [one.scores.tolist() for one in expected]
    assert {unit.field for unit in found[0].units} == set(FIELDS)
    frame = found[0].to_frame()
    assert list(frame["field"]) == [unit.field for unit in found[0].units]
    assert {"text", "field"} <= set(found.to_frame().columns)
    best = max(zip(found[0].scores, found[0].units, strict=True), key=lambda pair: pair[0])[1]
    assert (best.field, best.text) == ("hypothesis", "wet.")


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name not in ("records", "record batch")])
def test_a_column_of_any_library_is_a_list_of_texts(library):
    column = LIBRARIES[library](COLUMNS)["premise"]
    assert list(documents(column, None)) == COLUMNS["premise"]


def test_a_row_that_is_no_document_is_told_by_its_number():
    explainer = mase.Explainer(Callable(entails, ["no", "yes"]), background={"age": 0}, n_samples=64)
    for broken, message in (
        ([*ROWS, {"premise": "a", "hypothesis": None, "age": 3}], "'hypothesis' is None"),
        ([*ROWS, {"premise": "a", "hypothesis": ["b"], "age": 3}], r"'hypothesis' is \['b'\]"),
    ):
        with pytest.raises(InvalidTextError, match=message) as caught:
            explainer(broken, fields=FIELDS)
        assert caught.value.__notes__ == ["at text number 2, counted from 0"]
    with pytest.raises(InvalidTextError, match="'hypothesis' is nan"):
        explainer(pd.DataFrame({"premise": ["a"], "hypothesis": [np.nan], "age": [3]}), fields=FIELDS)
    with pytest.raises(InvalidTextError, match="expected 'hypothesis', too"):
        explainer([{"premise": "a", "age": 4}], fields=FIELDS)
    with pytest.raises(InvalidTextError, match="expected a mapping with premise"):
        explainer(["a text"], fields=FIELDS)


def test_what_is_no_choice_of_columns_is_refused():
    explainer = mase.Explainer(Callable(entails, ["no", "yes"]))
    table = pd.DataFrame(COLUMNS)
    with pytest.raises(InvalidTextError, match=r"fields=\[\.\.\.\].*premise, hypothesis, age, label"):
        explainer(table)
    with pytest.raises(OptionError, match="fields names 'premis', expected columns of the table: premise"):
        explainer(table, fields=["premis"])
    twice = pa.table([COLUMNS["premise"]] * 2 + [COLUMNS["label"]], names=["premise", "premise", "label"])
    for repeated in (pd.concat([table, table], axis=1), twice):
        with pytest.raises(OptionError, match="fields names 'premise', expected a column that is in the table once"):
            explainer(repeated, fields=["premise"])
    assert list(documents(twice, ["label"])) == [{"label": "yes"}, {"label": "no"}]
    with pytest.raises(InvalidTextError, match="as a list"):
        explainer(ROWS[0], fields=FIELDS)
    for wrong in ("premise", [], ["a", "a"], [""], [3], 3):
        with pytest.raises(OptionError, match="fields"):
            check_fields(wrong)


def test_of_a_mapping_from_splits_to_tables_one_has_to_be_picked():
    explainer = mase.Explainer(Callable(entails, ["no", "yes"]))
    with pytest.raises(InvalidTextError, match=r"pick a split, as in texts\['train'\]"):
        explainer({"train": pd.DataFrame(COLUMNS), "test": pd.DataFrame(COLUMNS)}, fields=FIELDS)
    if find_spec("datasets") is not None:
        import datasets

        with pytest.raises(InvalidTextError, match=r"texts\['train'\]"):
            explainer(datasets.DatasetDict({"train": datasets.Dataset.from_dict(COLUMNS)}))
