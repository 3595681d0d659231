"""Tests of `mase.sources`."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.document import Document
from mase.errors import DataError, EmptyTextError, InvalidTextError, MaseError, OptionError
from mase.sources import open_source
from mase.sources.labelled import read_labelled

TEXTS = ["a good film", "a dull film", "ein Film, größer"]


ROWS = [{"name": f"r{i}", "text": text, "stars": i, "group": "ab"[i % 2]} for i, text in enumerate(TEXTS)]


def write(path, rows=ROWS):
    """Write rows in the format of the suffix."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    if ".jsonl" in path.name:
        content = "".join(json.dumps(row) + "\n" for row in rows)
    elif ".txt" in path.name:
        content = "".join(row["text"] + "\n" for row in rows)
    else:
        mark = "\t" if ".tsv" in path.name else ";"
        content = mark.join(rows[0]) + "\n" + "".join(mark.join(map(str, row.values())) + "\n" for row in rows)
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def triples(source):
    return [(item.row, item.id, item.text) for item in source.items()]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz", "a.txt", "a.txt.gz"])
def test_every_format_gives_the_same_items(tmp_path, name):
    path = write(tmp_path / name)
    source = open_source(path)
    assert triples(source) == [(i, str(i), text) for i, text in enumerate(TEXTS)]
    assert len(source) == 3
    assert triples(open_source(str(path))) == triples(source)
    (table,) = source.describe()["tables"]
    assert (table["name"], table["size"], table["rows"]) == (name, path.stat().st_size, 3)
    assert [item.row for item in source.items(2)] == [2]
    assert list(source.items(3)) == []


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_ids_and_kept_columns(tmp_path, name):
    source = open_source(write(tmp_path / name), id_column="name", keep=["stars", "group=cohort"])
    assert source.kept == ("stars", "cohort")
    assert [(item.id, item.kept) for item in source.items()] == [
        ("r0", ("0", "a")),
        ("r1", ("1", "b")),
        ("r2", ("2", "a")),
    ]
    assert source.describe()["keep"] == {"stars": "stars", "cohort": "group"}


@pytest.mark.parametrize(
    "value",
    [TEXTS, tuple(TEXTS), pd.Series(TEXTS, index=[5, 6, 7]), pd.Series(TEXTS).to_numpy(str)],
    ids=["list", "tuple", "Series", "array"],
)
def test_texts_of_python(value):
    source = open_source(value)
    assert triples(source) == [(i, str(i), text) for i, text in enumerate(TEXTS)]
    assert {type(item.text) for item in source.items()} == {str}
    assert source.describe() == open_source(TEXTS).describe()
    assert source.describe() != open_source(TEXTS[::-1]).describe()


def test_a_mapping_gives_ids():
    assert triples(open_source({"x": "a film", 7: "a book"})) == [(0, "x", "a film"), (1, "7", "a book")]


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_pylist], ids=["pandas", "Arrow"])
def test_tables_of_python(make):
    source = open_source(make(ROWS), id_column="name", keep={"stars": "rating"})
    assert triples(source) == [(i, f"r{i}", text) for i, text in enumerate(TEXTS)]
    assert [item.kept for item in source.items(1)] == [("1",), ("2",)]
    with pytest.raises(DataError, match="no column 'review', expected one of: 'name', 'text', 'stars', 'group'"):
        open_source(make(ROWS), text_column="review")


def test_a_missing_value_of_pandas_is_null():
    frame = pd.DataFrame({"text": TEXTS, "stars": [1, None, 3]})
    assert [item.kept for item in open_source(frame, keep=["stars"]).items()] == [("1.0",), (None,), ("3.0",)]
    with pytest.raises(DataError, match="convert the column"):
        open_source(pd.DataFrame({"text": ["good", 5]}))
    assert len(open_source(pd.DataFrame({"text": TEXTS, "other": [1, "x", None]}))) == 3  # is not read


def test_columns_of_pandas_without_names():
    table = pd.DataFrame([["a good film", "pos"], ["a dull film", "neg"]])
    source = open_source(table, text_column="0", keep=["1=label"])
    assert [(item.text, item.kept) for item in source.items()] == [("a good film", ("pos",)), ("a dull film", ("neg",))]
    with pytest.raises(DataError, match="no column 'text', expected one of: '0', '1'"):
        open_source(table)
    with pytest.raises(DataError, match="no column 'text', expected one of: "):
        open_source(pd.DataFrame([["a good film"]], columns=pd.MultiIndex.from_tuples([("raw", "text")])))


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "text"),
        (pd.DataFrame([["a", "b"]], columns=["0", 0]), "0"),
        (pa.table([["a"], ["b"]], names=["text", "text"]), "text"),
    ],
)
def test_a_column_that_is_there_twice_is_an_error(table, name):
    with pytest.raises(DataError, match=f"the table has the column '{name}' twice"):
        open_source(table, text_column=name)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([["a", 1, 2]], columns=["review", "n", "n"]),
        pd.DataFrame({"review": ["a", "b"], "mixed": [1, "x"]}),
        pd.DataFrame({"review": [1, "x"], "other": ["a", "b"]}),
        pa.table([["a"], [1], [2]], names=["review", "n", "n"]),
    ],
)
def test_a_missing_column_is_named_whatever_the_others_are(table):
    with pytest.raises(DataError, match="no column 'text', expected one of: 'review'"):
        open_source(table)


def test_a_date_of_arrow_beyond_those_of_python_is_an_error():
    table = pa.table({"text": ["a good film"], "until": pa.array([10**7], pa.int32()).cast(pa.date32())})
    with pytest.raises(DataError, match="the table cannot be read"):
        open_source(table, keep=["until"])


def test_several_inputs_and_folders_are_one(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("b.txt", "a.csv", "_SUCCESS", ".hidden"):
        write(folder / name)
    source = open_source([write(tmp_path / "z.jsonl"), folder])
    assert [item.text for item in source.items()] == TEXTS * 3
    assert [item.row for item in source.items(4)] == [4, 5, 6, 7, 8]
    assert [table["name"] for table in source.describe()["tables"]] == ["z.jsonl", "a.csv", "b.txt"]


def test_a_folder_with_something_else_is_refused(tmp_path):
    with pytest.raises(DataError, match="has no files"):
        open_source(tmp_path)
    for name in ("a.csv", "notes.log", "report.pdf"):
        write(tmp_path / name)
    (tmp_path / "more").mkdir()
    with pytest.raises(DataError, match=r"'more', 'notes.log', 'report.pdf', expected only files that end in .csv"):
        open_source(tmp_path)


def test_values_to_look_for_are_compared_as_strings():
    table = {"text": ["a", "b"], "fold": [1, 2]}
    assert [item.text for item in open_source(pa.table(table), where={"fold": 2}).items()] == ["b"]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_cells_are_spelt_alike_wherever_they_are_read(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    rows = [{"text": str(cell), "cell": cell} for cell in (True, False, None)]
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    kept = [item.kept[0] for item in open_source(path, keep=["cell"]).items()]
    assert [row.label for row in read_labelled(path, label_column="cell").rows] == kept == ["True", "False", None]
    for row, spelt in zip(rows, kept, strict=True):
        for value in (row["cell"], spelt or ""):
            assert [item.text for item in open_source(path, where={"cell": value}).items()] == [row["text"]]
        chosen = read_labelled(path, label_column=None, where={"cell": spelt or ""}).rows
        assert [one.text for one in chosen] == [row["text"]]


def test_limit(tmp_path):
    paths = [write(tmp_path / name) for name in ("a.csv", "b.csv")]
    source = open_source(paths, limit=4)
    assert [item.row for item in source.items()] == [0, 1, 2, 3]
    assert [table["rows"] for table in source.describe()["tables"]] == [3, 1]
    assert source.describe() != open_source(paths).describe()
    assert len(open_source(paths, limit=100)) == 6
    with pytest.raises(OptionError, match="limit is 0"):
        open_source(paths, limit=0)


@pytest.mark.parametrize(
    ("source", "error", "match"),
    [
        ((text for text in TEXTS), OptionError, r"can be read only once.*pass list\(...\)"),
        ({"b", "a"}, InvalidTextError, "a set has no order"),
        ([], EmptyTextError, "no text"),
        ("-", DataError, "standard input"),
        ("", DataError, "empty file name"),
        ("nowhere.csv", DataError, "cannot read"),
        ("a\0b", DataError, "cannot read"),
        ("reviews.xlsx", DataError, "save it as CSV"),
        ("/dev/null", DataError, "pipe or a device"),
        ([1, 2], DataError, "text number 0.*is of type int"),
        ([Path(__file__), 5], OptionError, "type int beside paths"),
        ([__file__, __file__], OptionError, "pass a list of pathlib.Path"),
        (5, InvalidTextError, "int"),
    ],
)
def test_inputs_that_are_refused(source, error, match):
    with pytest.raises(error, match=match):
        open_source(source)


@pytest.mark.parametrize("option", [{"text_column": "text"}, {"id_column": "id"}, {"keep": ["label"]}])
def test_options_of_tables_need_a_table(tmp_path, option):
    for source in (TEXTS, {"a": "b"}, write(tmp_path / "a.txt"), [write(tmp_path / "a.csv"), tmp_path / "a.txt"]):
        with pytest.raises(OptionError, match=f"got {next(iter(option))}='.*', but .* has no columns"):
            open_source(source, **option)


@pytest.mark.parametrize(
    ("keep", "error", "match"),
    [
        (["error"], DataError, "'error' has a name that is taken.* as in COLUMN=their_error"),
        (["stars=row"], DataError, "'row' has a name that is taken.* as in COLUMN=their_row"),
        (["stars", "group=stars"], DataError, "two kept columns are called 'stars'"),
        (["stars=ID"], DataError, "'ID' differs from 'id' .*, as in COLUMN=their_ID"),
        (["Prediction"], DataError, "COLUMN=their_Prediction"),
        (["stars", "Stars"], DataError, "'Stars' differs from 'stars'|'stars' differs from 'Stars'"),
        ("stars", OptionError, r"expected a list of columns, as in \['stars'\]"),
        (["stars="], OptionError, "expected COLUMN or COLUMN=NAME"),
        (["caf\udce9"], OptionError, "not valid Unicode"),
        ([5], OptionError, "type int"),
        (["colour"], DataError, "no column 'colour', expected one of: 'name', 'text'"),
    ],
)
def test_columns_that_cannot_be_kept(tmp_path, keep, error, match):
    with pytest.raises(error, match=match):
        open_source(write(tmp_path / "a.csv"), keep=keep, reserved=("id", "row", "prediction", "error"))


def test_errors_are_ours(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(MaseError, match="no text"):
        open_source(tmp_path / "a.csv")


def test_only_wanted_rows_are_read_and_places_are_those_of_the_file(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("id,split,text\na,train,one\nb,test,two\nc,test,three\nb,test,four\n", encoding="utf-8")
    source = open_source(path, where={"split": "test"})
    assert [(item.row, item.text) for item in source.items()] == [(0, "two"), (1, "three"), (2, "four")]
    assert [item.text for item in source.items(1)] == ["three", "four"]
    assert source.describe() != open_source(path).describe()
    with pytest.raises(DataError, match=r"row 2 and .*row 4"):
        open_source(path, where={"split": "test"}, id_column="id")
    with pytest.raises(DataError):
        open_source(path, where={"fold": "1"})


INPUTS_DOCUMENTS_ROWS = [
    {"name": f"r{i}", "question": question, "answer": "it is, so", "age": i, "group": "ab"[i % 2]}
    for i, question in enumerate(["is it good", 'is it "dull"', "ist es größer"])
]


FIELDS = ["question", "answer", "age"]


OPTIONS = {"fields": FIELDS, "fixed": ["question"], "background": {"age": 30}, "id_column": "name", "keep": ["group"]}


DOCUMENTS = [
    Document.of({name: row[name] for name in FIELDS}, fixed=["question"], background={"age": 30})
    for row in INPUTS_DOCUMENTS_ROWS
]


def of_file(write, name):
    def source(folder):
        write(pd.DataFrame(INPUTS_DOCUMENTS_ROWS), folder / name)
        return folder / name

    return source


def of_datasets(_):
    datasets = pytest.importorskip("datasets")
    # selected rows are not those of the table below
    return datasets.Dataset.from_list([INPUTS_DOCUMENTS_ROWS[0], *INPUTS_DOCUMENTS_ROWS]).select([1, 2, 3])


SOURCES = {
    "csv": of_file(lambda table, path: table.to_csv(path, index=False), "a.csv"),
    "jsonl": of_file(lambda table, path: table.to_json(path, orient="records", lines=True), "a.jsonl"),
    "parquet": of_file(lambda table, path: pq.write_table(pa.Table.from_pandas(table), path), "a.parquet"),
    "pandas": lambda _: pd.DataFrame(INPUTS_DOCUMENTS_ROWS),
    "pyarrow": lambda _: pa.Table.from_pylist(INPUTS_DOCUMENTS_ROWS),
    "polars": lambda _: pytest.importorskip("polars").DataFrame(INPUTS_DOCUMENTS_ROWS),
    "datasets": of_datasets,
    "records": lambda _: INPUTS_DOCUMENTS_ROWS,
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.slow
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
        {**INPUTS_DOCUMENTS_ROWS[0]},
        {**INPUTS_DOCUMENTS_ROWS[1], "answer": {"en": "no"}},
        {"name": "r2", "question": "x"},
        {**INPUTS_DOCUMENTS_ROWS[0], "name": "r3"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = list(open_source(path, **OPTIONS | {"keep": None}).items())
    assert [item.id for item in items] == ["r0", "r1", "r2", "r3"]
    assert [item.text is None for item in items] == [False, True, True, False]
    assert "field 'answer' is {'en': 'no'}" in str(items[1].error)
    assert "no column 'answer'" in str(items[2].error)


def test_what_cannot_be_read_as_documents(tmp_path):
    table = pd.DataFrame(INPUTS_DOCUMENTS_ROWS)
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
