"""Tests of `mase.sources.tables`."""

import json
import tracemalloc

import pytest

from mase.errors import DataError
from mase.sources import open_source

LINES = '{"id": "a", "text": "good", "g": 1}\n{"id": "b", "text": null}\nnonsense\n{"id": "c", "text": 5, "g": [1]}\n'


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(LINES)
    return path


def test_rows_without_a_text_are_items_with_an_error(lines):
    items = list(open_source(lines, id_column="id", keep=["g"]).items())
    assert [(item.id, item.text, item.kept) for item in items] == [
        ("a", "good", ("1",)),
        ("b", None, (None,)),
        ("text 3", None, (None,)),
        ("c", None, ("[1]",)),
    ]
    assert [type(item.error).__name__ for item in items] == ["NoneType", "DataError", "DataError", "DataError"]
    assert "NoneType" in str(items[1].error)
    assert "line 3 is not JSON" in str(items[2].error)
    assert [item.id for item in open_source(lines).items()] == ["0", "1", "2", "3"]


def test_lines_that_are_no_text_are_items_with_an_error(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\n\xff\n\nbad\n\n")
    items = list(open_source(tmp_path / "a.txt").items())
    assert [item.text for item in items] == ["good", None, "", "bad"]
    assert "not UTF-8" in str(items[1].error)


def test_a_table_without_any_text_is_refused(tmp_path, lines):
    (tmp_path / "b.csv").write_text("review,label\ngood,pos\n")
    with pytest.raises(DataError, match=r"b.csv', row 1: no column 'text', expected one of: 'review', 'label'; name"):
        open_source([lines, tmp_path / "b.csv"])


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (["x", "y", "x"], r"the id 'x' is that of two texts, .*a.csv', row 1 and .*b.csv', row 2"),
        (["x", "", "y"], "a.csv', row 2: the id in column 'id' is empty"),
        (["row 5", "y", "z"], None),
    ],
)
def test_ids_are_unique_and_present(tmp_path, rows, match):
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f"{name},good\n" for name in rows[:2]))
    (tmp_path / "b.csv").write_text(f"id,text\nother,good\n{rows[2]},bad\n")
    if match is None:
        assert len(open_source(tmp_path, id_column="id")) == 4
        return
    with pytest.raises(DataError, match=match):
        open_source(tmp_path, id_column="id")


@pytest.mark.parametrize("value", [1.5, True, [1], None, "\ud800"])
def test_values_that_are_no_id(tmp_path, value):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": value, "text": "good"}))
    with pytest.raises(DataError, match=r"a.jsonl', row 1: the id"):
        open_source(path, id_column="id")
    with pytest.raises(DataError, match=r"no column 'name'.*name the column of the ids with id_column"):
        open_source(path, id_column="name")


def test_a_known_input_is_not_read_again(lines, monkeypatch):
    known = json.loads(json.dumps(open_source(lines, keep=["g"]).describe()))

    def fail(*_):
        raise AssertionError("the rows are read")

    with monkeypatch.context() as patched:
        patched.setattr("mase.sources.tables.read_rows", fail)
        source = open_source(lines, keep=["g"], known=known)
        assert (len(source), source.describe()) == (4, known)
        for change in ({"known": None}, {"known": {}}, {"limit": 2}, {"keep": None}, {"text_column": "t"}):
            with pytest.raises(AssertionError):
                open_source(lines, **{"keep": ["g"], "known": known} | change)
        for rows in (-1, "4", None, True):
            with pytest.raises(AssertionError):
                open_source(lines, keep=["g"], known=known | {"tables": [known["tables"][0] | {"rows": rows}]})
    lines.write_text(LINES + '{"text": "more"}\n')
    assert len(open_source(lines, keep=["g"], known=known)) == 5


def test_an_input_that_changes_is_found(lines):
    source = open_source(lines)
    known = source.describe()
    lines.write_text(LINES.replace("good", "best"))
    with pytest.raises(DataError, match="has changed"):
        list(source.items())
    items = open_source(lines).items()
    next(items)
    lines.write_text(LINES.replace("good", "more"))  # as many bytes, while it is read
    with pytest.raises(DataError, match="has changed since the run began"):
        next(items)
    texts = ["good", "bad"]
    source = open_source(texts)
    texts.pop()
    with pytest.raises(DataError, match="text number 1, counted from 0 is missing"):
        list(source.items())
    assert known["tables"] != open_source(lines).describe()["tables"]


@pytest.mark.slow
def test_reading_needs_no_memory(tmp_path):
    path = tmp_path / "a.jsonl"
    with path.open("w") as file:
        file.writelines(f'{{"id": {i}, "text": "a film of many words, number {i}"}}\n' for i in range(10_000))
    tracemalloc.start()
    try:
        source = open_source(path, id_column="id")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(source) == 10_000
    assert peak < 700_000  # the file has as many bytes, a list of its rows some megabytes
