"""Tests of documents that are read from a run."""

from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mase
from mase.document import Document
from mase.errors import DataError, InvalidTextError, OptionError
from mase.models import Callable
from mase.sources import rows as ids
from mase.sources.labelled import iter_labelled
from mase.sources.rows import DocumentColumns, check_fields, documents, fields_of, scalar_of


def test_fields_are_read_in_order():
    document = '[{"name": "title", "text": "é", "fixed": true}, {"name": "text", "text": "b", "fixed": false}]'
    assert fields_of(document, 0) == [("title", "é"), ("text", "b")]
    assert fields_of(None, 0) == []


@pytest.mark.parametrize("document", ["", "{}", "[1]", '[{"name": "text"}]', "[" * 100_000, '[{"name": 1, "text": 2}]'])
def test_what_is_no_document_is_refused_with_its_row(document):
    with pytest.raises(DataError, match="row 7"):
        fields_of(document, 7)


def repeated(names):
    found = ids.Ids()
    for name in names:
        found.add(name)
    return found.repeated(names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], None),
        (["a"], None),
        (["a", "b", "A"], None),
        (["a", "b", "b", "a"], (1, 2)),
        (["x", "y", "z", "x"], (0, 3)),
    ],
)
def test_the_first_repetition_is_found(names, expected):
    assert repeated(names) == expected


def test_equal_hashes_are_no_repetition(monkeypatch):
    monkeypatch.setattr(ids, "hash", len, raising=False)
    assert repeated(["ab", "cd", "efg"]) is None
    assert repeated(["ab", "cd", "cd"]) == (1, 2)


FIELDS = ["title", "body"]


def test_a_column_of_texts_and_fields():
    row = {"title": "Rain", "body": "It is wet.", "text": "all"}
    assert DocumentColumns.of().read(row) == "all"
    assert DocumentColumns.of("title").read(row) == "Rain"
    found = DocumentColumns.of(fields=["body", "title"], fixed=["title"]).read(row)
    assert found.content == {"body": "It is wet.", "title": "Rain"}
    assert [field.fixed for field in found.fields] == [False, True]
    # one field with the name of the field of a plain text is one
    assert DocumentColumns.of(fields=["text"]).read(row).is_plain
    with pytest.raises(OptionError, match="text_column and fields are both given"):
        DocumentColumns.of("title", FIELDS)
    with pytest.raises(OptionError, match="expected a list of columns"):
        DocumentColumns.of(fields="title")


@pytest.mark.parametrize(
    ("cell", "background", "value"),
    [
        ("40", 0, 40),
        ("1e3", 0.5, 1000.0),
        (".5", 0, 0.5),
        ("+3", 0, 3),
        ("007", 0, 7),
        ("true", False, True),
        ("True", False, True),
        ("FALSE", True, False),
        (40, 0, 40),
        ("FR", "DE", "FR"),
        ("40", "0", "40"),
    ],
)
def test_a_cell_is_of_the_type_of_its_background_value(cell, background, value):
    columns = DocumentColumns.of(fields=["title", "x"], background={"x": background})
    field = columns.read({"title": "a", "x": cell}).fields[1]
    assert (field.value, type(field.value), field.background) == (value, type(value), background)


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"title": "a"}, DataError, "no column 'x', expected one of: 'title'; name the columns"),
        ({"title": "a", "x": "forty"}, InvalidTextError, "'x' is 'forty', expected a number"),
        ({"title": "a", "x": "1e999"}, InvalidTextError, "expected a number"),
        ({"title": "a", "x": "9" * 400}, InvalidTextError, "expected a number"),
        ({"title": "a", "x": Decimal("sNaN")}, InvalidTextError, "'x'"),
        ({"title": "a", "x": ""}, InvalidTextError, "expected a number"),
        ({"title": "a", "x": None}, InvalidTextError, "'x' is None"),
        ({"title": None, "x": 1}, InvalidTextError, "'title' is None"),
        ({"title": {"de": "a"}, "x": 1}, InvalidTextError, "of type dict"),
        ({"title": ["a"], "x": 1}, InvalidTextError, "of type list"),
        ({"title": "\ud800", "x": 1}, InvalidTextError, "surrogate"),
        ({"title": "a", "x": float("nan")}, InvalidTextError, "nan"),
        ({"title": "a", "x": 10**5000}, InvalidTextError, "digits"),
        ({"title": "a", "x": "9" * 5000}, InvalidTextError, "expected a number"),
    ],
)
def test_a_row_that_makes_no_document_has_an_error(row, error, message):
    found = DocumentColumns.of(fields=["title", "x"], background={"x": 0}).read(row)
    assert type(found) is error
    assert message in str(found)
    assert len(str(found)) < 500


@pytest.mark.parametrize("cell", ["yes", ""])
def test_what_is_no_truth_value_is_refused_where_the_background_is_one(cell):
    found = DocumentColumns.of(fields=["x"], background={"x": False}).read({"x": cell})
    assert type(found) is InvalidTextError
    assert "true or false" in str(found)


def test_a_number_in_place_of_a_category():
    found = DocumentColumns.of(fields=["x"], background={"x": "FR"}).read({"x": 5})
    assert (type(found), "expected a string" in str(found)) == (InvalidTextError, True)


def test_what_a_typed_value_says():
    typed = [
        "40",
        "-1.5",
        "true",
        '"40"',
        "FR",
        "007",
        "nan",
        "Infinity",
        "null",
        "[1]",
        "",
        "1e999",
        "a=b",
        "9" * 5000,
    ]
    values = [40, -1.5, True, "40", "FR", "007", "nan", "Infinity", "null", "[1]", "", "1e999", "a=b", "9" * 5000]
    assert list(map(scalar_of, typed)) == values


def test_rows_of_a_file_are_documents_with_labels(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("title,body,label\nRain,It is wet.,pos\nSun,,neg\n")
    rows = list(iter_labelled(path, fields=FIELDS, fixed=["title"]))
    assert [row.label for row in rows] == ["pos", "neg"]
    assert rows[0].text == Document.of({"title": "Rain", "body": "It is wet."}, fixed=["title"])
    with pytest.raises(DataError, match="no valid row; row 1: no column 'author'"):
        list(iter_labelled(path, fields=["author"]))


COLUMNS = {
    "premise": ["It rains today.", "All is quiet."],
    "hypothesis": ["The street is wet.", "There is noise."],
    "age": [40, 7],
    "label": ["yes", "no"],
}


TABLES_FIELDS = ["premise", "hypothesis", "age"]


ROWS = [
    dict(zip(TABLES_FIELDS, row, strict=True)) for row in zip(*(COLUMNS[name] for name in TABLES_FIELDS), strict=True)
]


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
    found = explainer(table, fields=TABLES_FIELDS, target="yes")
    expected = explainer(ROWS, target="yes")
    assert [one.scores.tolist() for one in found] == [one.scores.tolist() for one in expected]
    assert {unit.field for unit in found[0].units} == set(TABLES_FIELDS)
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
            explainer(broken, fields=TABLES_FIELDS)
        assert caught.value.__notes__ == ["at text number 2, counted from 0"]
    with pytest.raises(InvalidTextError, match="'hypothesis' is nan"):
        explainer(pd.DataFrame({"premise": ["a"], "hypothesis": [np.nan], "age": [3]}), fields=TABLES_FIELDS)
    with pytest.raises(InvalidTextError, match="expected 'hypothesis', too"):
        explainer([{"premise": "a", "age": 4}], fields=TABLES_FIELDS)
    with pytest.raises(InvalidTextError, match="expected a mapping with premise"):
        explainer(["a text"], fields=TABLES_FIELDS)


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
        explainer(ROWS[0], fields=TABLES_FIELDS)
    for wrong in ("premise", [], ["a", "a"], [""], [3], 3):
        with pytest.raises(OptionError, match="fields"):
            check_fields(wrong)


def test_of_a_mapping_from_splits_to_tables_one_has_to_be_picked():
    explainer = mase.Explainer(Callable(entails, ["no", "yes"]))
    with pytest.raises(InvalidTextError, match=r"pick a split, as in texts\['train'\]"):
        explainer({"train": pd.DataFrame(COLUMNS), "test": pd.DataFrame(COLUMNS)}, fields=TABLES_FIELDS)
    if find_spec("datasets") is not None:
        import datasets

        with pytest.raises(InvalidTextError, match=r"texts\['train'\]"):
            explainer(datasets.DatasetDict({"train": datasets.Dataset.from_dict(COLUMNS)}))
