"""Tests of `mase.datasets.documents`: what the cells of a row make."""

import pytest

from mase.datasets.documents import DocumentColumns, scalar_of
from mase.datasets.labelled import iter_labelled
from mase.document import Document
from mase.errors import DataError, InvalidTextError, OptionError

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
