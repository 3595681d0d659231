"""Tests of `mase.corpus.inputs`: documents from tables of several libraries, from lists and from files."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.corpus.inputs import open_source
from mase.document import Document
from mase.errors import DataError, InvalidTextError, OptionError

ROWS = [
    {"name": f"r{i}", "question": question, "answer": "it is, so", "age": i, "group": "ab"[i % 2]}
    for i, question in enumerate(["is it good", 'is it "dull"', "ist es größer"])
]
FIELDS = ["question", "answer", "age"]
OPTIONS = {"fields": FIELDS, "fixed": ["question"], "background": {"age": 30}, "id_column": "name", "keep": ["group"]}
DOCUMENTS = [
    Document.of({name: row[name] for name in FIELDS}, fixed=["question"], background={"age": 30}) for row in ROWS
]


def of_file(write, name):
    def source(folder):
        write(pd.DataFrame(ROWS), folder / name)
        return folder / name

    return source


def of_datasets(_):
    datasets = pytest.importorskip("datasets")
    # selected rows are not those of the table below
    return datasets.Dataset.from_list([ROWS[0], *ROWS]).select([1, 2, 3])


SOURCES = {
    "csv": of_file(lambda table, path: table.to_csv(path, index=False), "a.csv"),
    "jsonl": of_file(lambda table, path: table.to_json(path, orient="records", lines=True), "a.jsonl"),
    "parquet": of_file(lambda table, path: pq.write_table(pa.Table.from_pandas(table), path), "a.parquet"),
    "pandas": lambda _: pd.DataFrame(ROWS),
    "pyarrow": lambda _: pa.Table.from_pylist(ROWS),
    "polars": lambda _: pytest.importorskip("polars").DataFrame(ROWS),
    "datasets": of_datasets,
    "records": lambda _: ROWS,
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_rows_of_every_table_are_the_same_documents(name, tmp_path):
    source = open_source(SOURCES[name](tmp_path), **OPTIONS)
    items = list(source.items())
    assert [item.text for item in items] == DOCUMENTS
    assert [(item.id, item.kept) for item in items] == [("r0", ("a",)), ("r1", ("b",)), ("r2", ("a",))]
    described = json.loads(json.dumps(source.describe()))
    assert (described["fields"], described["numbers"]) == (FIELDS, ["age"])
    again = open_source(SOURCES[name](tmp_path), **OPTIONS, known=described)
    assert again.describe() == described
    other = open_source(SOURCES[name](tmp_path), **OPTIONS | {"fields": ["answer", "question"], "background": None})
    assert other.describe() != described


def test_a_source_of_plain_texts_is_described_as_by_earlier_releases():
    assert open_source(["a good film", "a dull film"]).describe() == {
        "tables": [{"sha256": "3d8527be5c7eaef0ba38b79fa9b58192d4b73fa781e13b7d5af9240ddd28692e", "rows": 2}],
        "text_column": "text", "id_column": None, "keep": {}, "limit": None, "where": {},
    }  # fmt: skip


@pytest.mark.parametrize("values", [list, tuple, lambda pairs: {f"i{n}": pair for n, pair in enumerate(pairs)}])
def test_pairs_and_records_in_lists_and_by_id(values):
    inputs = [("one", "two"), {"question": "three"}, "four", Document.of({"a": "five"})]
    items = list(open_source(values(inputs)).items())
    contents = [item.text if isinstance(item.text, str) else item.text.content for item in items]
    assert contents == [{"text": "one", "text_pair": "two"}, {"question": "three"}, "four", {"a": "five"}]


def test_a_value_that_is_no_document_is_an_item_with_an_error():
    items = list(open_source(["a", ("one", "two", "three"), {"a": ["b"]}, {}, 5]).items())
    assert [type(item.error) for item in items] == [type(None), *[InvalidTextError] * 3, DataError]
    assert [item.id for item in open_source({"x": "a", "y": {"a": None}}).items()] == ["x", "y"]


def test_columns_of_arrow_and_polars_are_texts():
    texts = ["a good film", "a dull film"]
    assert [item.text for item in open_source(pa.chunked_array([texts])).items()] == texts
    polars = pytest.importorskip("polars")
    assert [item.text for item in open_source(polars.Series(texts)).items()] == texts


def test_a_row_of_a_file_that_is_no_document_keeps_its_id(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {**ROWS[0]},
        {**ROWS[1], "answer": {"en": "no"}},
        {"name": "r2", "question": "x"},
        {**ROWS[0], "name": "r3"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = list(open_source(path, **OPTIONS | {"keep": None}).items())
    assert [item.id for item in items] == ["r0", "r1", "r2", "r3"]
    assert [item.text is None for item in items] == [False, True, True, False]
    assert "field 'answer' is {'en': 'no'}" in str(items[1].error)
    assert "no column 'answer'" in str(items[2].error)


def test_what_cannot_be_read_as_documents(tmp_path):
    table = pd.DataFrame(ROWS)
    with pytest.raises(OptionError, match=r"pick a split, as in source\['train'\]"):
        open_source({"train": table, "test": table}, fields=FIELDS)
    with pytest.raises(OptionError, match="text_column and fields are both given"):
        open_source(table, text_column="question", fields=FIELDS)
    with pytest.raises(OptionError, match=r"fields=\['a'\], but a list has no columns"):
        open_source(["one", "two"], fields=["a"])
    with pytest.raises(DataError, match=r"no column 'author', expected one of: 'name', .*no row can be read"):
        open_source(table, fields=["author"])
    with pytest.raises(DataError, match="fixed names 'author'"):
        open_source(table, fields=["question"], fixed=["author"])
    (tmp_path / "a.txt").write_text("a text\n")
    with pytest.raises(OptionError, match="has no columns"):
        open_source(tmp_path / "a.txt", fields=["a"])
