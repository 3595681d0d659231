"""`mase evaluate`, and the tables and files of attributions that it reads."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner

import mase
from mase.cli import main
from mase.cli.evaluate import evaluate as command
from mase.datasets.formats import read_rows
from mase.datasets.labelled import class_index, read_labelled
from mase.errors import DataError, ModelError, UnknownNameError
from mase.metrics import METRICS
from mase.metrics.attributions import read_attributions
from mase.metrics.masking import Operator
from mase.models.devices import multiplies_bfloat16

TEXTS = [
    "a good film",
    "a dull film",
    "good, not dull",
    'the film\nof "all" time; dull',
    "such a good good cast",
    "a film",
]
LABELS = ["pos", "neg", "pos", "neg", "pos", "pos"]


def predict(texts):
    """The more of "good" and the less of "dull", the likelier "pos"; "crash" raises."""
    if any("crash" in text for text in texts):
        raise RuntimeError("the model fell over")
    chances = [0.55 + 0.4 * ("good" in text) - 0.4 * ("dull" in text) for text in texts]
    return [[1 - chance, chance] for chance in chances]


@pytest.fixture
def table(tmp_path):
    """Write texts with labels as JSON Lines."""

    def write(texts=TEXTS, labels=LABELS, name="texts.jsonl", **more):
        path = tmp_path / name
        rows = [{"text": text, "label": label} | more for text, label in zip(texts, labels, strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def run(monkeypatch):
    """Run `mase evaluate ...` on a black box that takes the place of every model."""
    monkeypatch.setattr(
        "mase.models.load", lambda *_a, **_k: mase.models.Callable(predict, labels=["neg", "pos"], name="box")
    )

    def run(*arguments):
        return CliRunner().invoke(
            main, ["evaluate", "--methods", "mase-mask", "--n-samples", "32", *map(str, arguments)]
        )

    return run


# --- tables ---------------------------------------------------------------------------------------------------------


def write_csv(path, separator):
    import csv

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(["label", "text", "split"])
        writer.writerows([label, text, "test" if index % 2 else "train"] for index, (text, label) in enumerate(rows()))


def rows():
    return list(zip(TEXTS, LABELS, strict=True))


def write_parquet(path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    splits = ["test" if index % 2 else "train" for index in range(len(TEXTS))]
    parquet.write_table(
        pa.table({"text": TEXTS, "label": LABELS, "split": splits, "other": list(range(len(TEXTS)))}), path
    )


def write_lines(path):
    rows_ = [{"text": t, "label": label, "split": "test" if i % 2 else "train"} for i, (t, label) in enumerate(rows())]
    path.write_text("\n".join(map(json.dumps, rows_)) + "\n\n", encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_same_rows(tmp_path, ending):
    path = tmp_path / f"texts.{ending}"
    if ending == "parquet":
        write_parquet(path)
    elif ending == "jsonl":
        write_lines(path)
    else:
        write_csv(path, "," if ending == "csv" else "\t")
    found = read_labelled(path)
    assert [(row.row, row.text, row.label) for row in found.rows] == [(i, *row) for i, row in enumerate(rows(), 1)]
    assert len(found.sha256) == 64
    part = read_labelled(path, where={"split": "test"})
    assert [row.row for row in part.rows] == [2, 4, 6]
    unlabelled = read_labelled(path, label_column=None)
    assert {row.label for row in unlabelled.rows} == {None}
    assert len(read_labelled(path, label_column="rating", labels_optional=True)) == len(TEXTS)
    with pytest.raises(
        DataError, match=r"row 1: no column 'review', expected one of: .*'text'.*; name that of the texts"
    ):
        read_labelled(path, text_column="review")
    with pytest.raises(DataError, match="no row where"):
        read_labelled(path, where={"split": "none"})


def test_long_fields_and_the_limit_of_the_csv_module(tmp_path):
    import csv

    before = csv.field_size_limit()
    path = tmp_path / "long.csv"
    path.write_text("text,label\n" + "word " * 40_000 + ",pos\n", encoding="utf-8")
    assert len(read_labelled(path).rows[0].text) > before
    assert csv.field_size_limit() == before


def test_two_tables_with_long_fields_may_be_open_at_once(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("text\n" + ("word " * 40_000 + "\n") * 2, encoding="utf-8")
    first, second = read_rows(path, ["text"]), read_rows(path, ["text"])
    next(first), next(second)
    assert len(list(first)) == len(list(second)) == 1


def test_where_a_table_stops_being_utf_8(tmp_path):
    path = tmp_path / "latin.csv"
    content = b"text\n" + b"good film\n" * 9_000
    path.write_bytes(content + b"caf\xe9\n")
    with pytest.raises(DataError, match=f"not UTF-8 at byte {len(content) + 3}; convert it"):
        list(read_rows(path, ["text"]))


def test_a_heading_with_a_name_twice_is_an_error(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("text,label,text\na,pos,b\n", encoding="utf-8")
    with pytest.raises(DataError, match="has the column 'text' twice"):
        list(read_rows(path, ["text"]))


def test_a_parquet_table_or_an_object_with_a_name_twice_is_an_error(tmp_path):
    columns = [pa.array(["good"]), pa.array(["dull"]), pa.array(["pos"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["text", "text", "label"]), tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="has the column 'text' twice"):
        list(read_rows(tmp_path / "twice.parquet", ["text"]))
    lines = tmp_path / "twice.jsonl"
    lines.write_text('{"text": "good", "text": "dull"}\n{"text": "a film"}\n', encoding="utf-8")
    found = read_labelled(lines, label_column=None).rows
    assert all(part in str(found[0].error) for part in ("line 1", "'text'"))
    assert (found[0].text, found[1].text) == ("", "a film")


def test_a_missing_column_is_told_whatever_the_others_hold(tmp_path):
    """Times in nanoseconds cannot be read as Python's, and need not."""
    times = pa.array([1, 2], pa.timestamp("ns"))
    pq.write_table(pa.table({"when": times, "label": ["pos", "neg"]}), tmp_path / "times.parquet")
    assert list(read_rows(tmp_path / "times.parquet", ["text"])) == [{"when": None, "label": None}] * 2
    assert list(read_rows(tmp_path / "times.parquet", ["label"])) == [{"label": "pos"}, {"label": "neg"}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "text,label\nunquoted, comma,pos\n",
            "row 1: another number of fields than the heading, got 3, expected 2",
        ),
        ("a.csv", "text,label\na\n", "row 1: another number of fields than the heading, got 1, expected 2"),
        ("a.csv", 'text,label\n"open,pos\n', "cannot be read at line"),
        ("a.csv", "text,label\n", "has no row, expected at least one text"),
        ("a.jsonl", '{"text": "a"', "line 1 is not JSON"),
        ("a.jsonl", "[1]", "line 1 is a list, expected an object"),
        ("a.jsonl", '{"text": 3, "label": 1}', "row 1: 'text' is of type int, expected a string"),
        ("a.parquet", "no table", "is no Parquet table"),
        ("a.table", "x", "cannot tell the format .* expected one of .csv, .tsv"),
        ("a.xlsx", "x", "save it as CSV"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_labelled(path)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("text,label\ncaf\u00e9,pos\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_labelled(path)
    with pytest.raises(DataError, match="No such file"):
        read_labelled(tmp_path / "none.csv")


def test_labels_are_names_or_indices():
    assert [class_index(label, ("neg", "pos")) for label in ("pos", "neg", "1", "0")] == [1, 0, 1, 0]
    assert class_index("1", ("1", "0")) == 0  # a name comes first
    for wrong in ("2", "positive", "-1", "1" * 5000):
        with pytest.raises(UnknownNameError, match="known: neg, pos"):
            class_index(wrong, ("neg", "pos"))


# --- files of attributions ------------------------------------------------------------------------------------------

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
        ('{"schema": "mase.attribution/1"}\n[["a", 1]]', "mixes"),
        ('{"schema": "other/1"}', "schema 'other/1'"),
    ],
)
def test_files_that_hold_no_attributions(tmp_path, content, message):
    path = tmp_path / "wrong.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_attributions(path)


# --- the command ----------------------------------------------------------------------------------------------------


def test_half_precision_is_for_the_explanations():
    """A trial of 16 rows in both precisions, on a processor that has both; the model itself is judged in its own."""
    trial = 32 if multiplies_bfloat16(torch.device("cpu")) else 0
    options = ["-i", "examples/reviews.csv", "--n-texts", "2", "--n-samples", "50", "--methods", "mase", "--json"]
    exact, half = (
        json.loads(CliRunner().invoke(main, ["evaluate", *options, "--precision", precision]).stdout)
        for precision in ("float32", "bfloat16")
    )
    assert (exact["precision"], half["precision"]) == ("float32", "bfloat16")
    assert half["methods"]["mase"]["cost"]["n_queries"] == exact["methods"]["mase"]["cost"]["n_queries"] + trial
    assert [text["probability"] for text in half["texts"]] == [text["probability"] for text in exact["texts"]]


def test_a_function_of_texts_has_no_half_precision(run, table):
    found = run("-i", table(), "--precision", "bfloat16")
    assert found.exit_code == 1
    assert "half precision is for torch models" in found.stderr


def test_the_table_on_standard_output(run, table):
    found = run("-i", table(), "--k", "1,3")
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines[0] == "6 texts, box, operator delete, 100.0% of 6 classified correctly, means with 95 % intervals"
    assert re.search(r"^delta-accuracy +k=1 \(↑\) +k=3 \(↑\)$", found.stdout, re.MULTILINE)
    assert re.search(r"^comprehensiveness +mean \(↑\) +k=1 \(↑\) +k=3 \(↑\)$", found.stdout, re.MULTILINE)
    assert re.search(r"^mase-mask +0\.\d{3} \[0\.\d{3},[01]\.\d{3}\] ", found.stdout, re.MULTILINE)
    assert "6 texts judged" in found.stderr


def test_json_with_provenance_and_the_numbers_of_every_text(run, table, tmp_path):
    output = tmp_path / "results.json"
    path = table()
    found = run(
        "-i", path, "-o", output, "--json", "--batches", "3", "--seed", "7", "--metrics", "delta-accuracy,naopc"
    )
    assert found.exit_code == 0
    document = json.loads(found.stdout)
    assert document == json.loads(output.read_text(encoding="utf-8"))
    assert document["schema"] == "mase.evaluation/1"
    assert document["data"] == {"path": path, "sha256": read_labelled(path).sha256, "n_rows": 6}
    assert document["accuracy"] == {"share": 1.0, "n": 6}
    assert (document["n_texts"], document["seed"], document["operator"]) == (6, 7, "delete")
    assert document["settings"]["mase-mask"]["n_samples"] == 32
    assert document["metrics"]["naopc"] == {"name": "NormalisedAopc", "beam": 5}
    assert "numpy" in document["versions"]
    names = [(column["metric"], column["name"]) for column in document["columns"]]
    assert names[:4] == [("delta-accuracy", f"k={k}") for k in (1, 5, 10, 15)]
    summary = document["methods"]["mase-mask"]["summaries"][0]
    values = [text["values"]["mase-mask"][0] for text in document["texts"]]
    assert summary["mean"] == pytest.approx(np.mean(values))
    assert summary["sd"] == pytest.approx(np.std(np.reshape(values, (3, 2)).mean(axis=1), ddof=1))
    assert sorted(document["rows"]) == [1, 2, 3, 4, 5, 6]


def test_the_table_says_of_how_many_texts_a_mean_is(run, table):
    """NAOPC of a text on which nothing changes does not exist."""
    path = table(texts=["a good film", "the film", "such a film", "a dull film"], labels=["pos", "pos", "pos", "neg"])
    found = run("-i", path, "--metrics", "naopc,delta-accuracy", "--methods", "mase-mask")
    assert re.search(r"^naopc .*\nmase-mask .*\] \(2\)$", found.stdout, re.MULTILINE)
    assert re.search(r"^delta-accuracy .*\nmase-mask .*\]$", found.stdout, re.MULTILINE)


def test_a_file_in_the_order_of_rows_needs_them(run, table, tmp_path):
    ours, ordered = tmp_path / "mine.jsonl", tmp_path / "other.jsonl"
    mase.Explainer(mase.models.Callable(predict, labels=["neg", "pos"]), n_samples=32)("a good film").save(ours)
    ordered.write_text('{"good": 1}\n')
    found = run("--attributions", f"mine={ours}", "--attributions", f"other={ordered}")
    assert found.exit_code == 1
    assert "has no texts but the order of a table's rows, expected --input FILE" in found.stderr


def test_the_mean_of_a_single_text_has_no_bootstrap_interval(run, table):
    found = run(
        "-i",
        table(),
        "--n-texts",
        "1",
        "--metrics",
        "delta-accuracy,comprehensiveness",
        "--methods",
        "mase-mask,random",
    )
    flips, loss = (
        re.search(rf"^{name}.*\n(mase-mask.*)$", found.stdout, re.M)[1] for name in ("delta-acc", "comprehens")
    )
    assert "[" in flips
    assert "[" not in loss
    document = json.loads(run("-i", table(), "--n-texts", "1", "--metrics", "comprehensiveness", "--json").stdout)
    summary = document["methods"]["mase-mask"]["summaries"][0]
    assert (summary["low"], summary["high"], summary["n"]) == (None, None, 1)


def test_the_same_seed_gives_the_same_texts_first(run, table):
    def rows_of(*arguments):
        return json.loads(run("-i", table(), "--json", *arguments).stdout)["rows"]

    assert rows_of("--n-texts", "3") == rows_of()[:3]
    assert rows_of() == rows_of()
    assert rows_of("--seed", "1") != rows_of("--seed", "2")


def test_only_correct_leaves_out_the_others_and_tells_the_accuracy(run, table):
    path = table(labels=["pos", "pos", "pos", "neg", "neg", "pos"])
    document = json.loads(run("-i", path, "--json", "--only-correct").stdout)
    assert sorted(document["rows"]) == [1, 3, 4, 6]
    assert document["accuracy"] == {"share": 4 / 6, "n": 6}
    none = run("-i", table(labels=["neg", "pos", "neg", "pos", "neg", "neg"]), "--only-correct")
    assert none.exit_code == 1
    assert "could be judged and is classified correctly" in none.stderr


def test_labels_of_a_table_can_be_renamed(run, table):
    path = table(labels=["good" if label == "pos" else "0" for label in LABELS])
    assert json.loads(run("-i", path, "--label", "good=pos", "--json").stdout)["accuracy"]["share"] == 1


@pytest.mark.parametrize("odd", range(6))
def test_an_unknown_label_costs_its_row_wherever_it_is_drawn(run, table, odd):
    labels = [*LABELS[:odd], "good", *LABELS[odd + 1 :]]
    found = run("-i", table(labels=labels), "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [row for row in range(1, 7) if row != odd + 1]
    assert f"row {odd + 1}: unknown label 'good'" in found.stderr


def test_a_table_none_of_whose_labels_is_known_is_said_once(run, table):
    path = table(labels=["good", "bad"] * 3)
    found = run("-i", path)
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr.count("mase: error:") == 1
    assert "unknown label 'good'" in found.stderr
    assert "rename them with --label LABEL=CLASS" in found.stderr


def test_a_table_without_labels(run, tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("review\na good film\na dull one\n", encoding="utf-8")
    document = json.loads(run("-i", path, "--text-column", "review", "--json").stdout)
    assert document["accuracy"] == {"share": None, "n": 0}
    found = run("-i", path, "--text-column", "review", "--only-correct")
    assert (found.exit_code, "no column 'label'" in found.stderr) == (1, True)


def test_a_text_that_fails_does_not_stop_the_others(run, table):
    found = run("-i", table(["a good film", "crash", " ", "a dull film"], ["pos", "pos", "neg", "neg"]), "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [1, 4]
    assert "row 2: box raised RuntimeError: the model fell over" in found.stderr
    assert re.search("row 3: text ' ' has no word", found.stderr)
    assert "2 texts judged, 2 failed" in found.stderr
    assert issubclass(ModelError, mase.MaseError)


def test_a_row_without_a_text_costs_that_row(run, table):
    found = run("-i", table(["a good film", None, 3, "a dull film"], ["pos", "pos", "neg", "neg"]), "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [1, 4]
    assert "row 2: 'text' is of type NoneType, expected a string" in found.stderr
    assert "row 3: 'text' is of type int" in found.stderr
    path = table([None, None], ["pos", "neg"])
    with pytest.raises(
        DataError, match="has no row that can be used; row 1: 'text' is of type NoneType, expected a string"
    ):
        read_labelled(path)


def test_a_row_that_cannot_be_read_costs_that_row(run, tmp_path):
    lines = ['{"text": "a good film", "label": "pos"}', '{"label": "pos"}', '{"text": ', "[1]", "\udcff", "[" * 100_000]
    path = tmp_path / "texts.jsonl"
    path.write_bytes("\n".join([*lines, '{"text": "a dull film", "label": "neg"}']).encode("utf-8", "surrogateescape"))
    found = run("-i", path, "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [1, 7]
    assert (
        "row 2: no column 'text', expected one of: 'label'; name that of the texts with --text-column" in found.stderr
    )
    for row, message in [
        (3, "is not JSON"),
        (4, "is a list, expected an object"),
        (5, "can't decode byte"),
        (6, "not JSON"),
    ]:
        assert re.search(rf"row {row}: line {row} .*{message}", found.stderr)
    assert "2 texts judged, 5 failed" in found.stderr


def test_a_row_of_another_width_costs_that_row(run, tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("text,label\na good film,pos\ngood, bad,pos\n\nalone\na dull film,neg\n", encoding="utf-8")
    found = run("-i", path, "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [1, 4]
    assert "row 2: another number of fields than the heading, got 3, expected 2; quote fields" in found.stderr
    assert "row 3: another number of fields than the heading, got 1" in found.stderr


def test_a_column_of_texts_that_is_the_one_of_labels_by_default(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("review\na good film\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column 'label', expected one of: 'review'"):
        read_labelled(path, text_column="label", labels_optional=True)


@pytest.mark.parametrize("long", [0, 3])
def test_a_method_that_cannot_explain_a_text_misses_that_text_only(run, table, long):
    """Occlusion asks one row per word and the text itself, and has 6: a text of 7 words is beyond it, whichever comes first."""
    texts = [*TEXTS[:3], TEXTS[5]]
    texts.insert(long, "a good film is a good film")
    found = run("-i", table(texts, ["pos"] * 5), "--methods", "occlusion,random", "--n-samples", "6", "--json")
    assert found.exit_code == 1
    document = json.loads(found.stdout)
    assert sorted(document["rows"]) == [1, 2, 3, 4, 5]
    assert re.search(rf"row {long + 1}, occlusion: --n-samples", found.stderr)
    assert found.stderr.count("mase: error:") == 1
    assert [document["methods"][name]["summaries"][0]["n"] for name in ("occlusion", "random")] == [4, 5]
    assert document["differences"][0]["columns"][0]["n"] == 4
    at = document["rows"].index(long + 1)
    assert document["texts"][at]["values"]["occlusion"] == [None] * len(document["columns"])
    shown = run("-i", table(texts, ["pos"] * 5), "--methods", "occlusion,random", "--n-samples", "6")
    assert re.search(r"^occlusion \(4 of 5 texts\) +0\.", shown.stdout, re.MULTILINE)
    assert re.search(r"^random +0\.", shown.stdout, re.MULTILINE)
    alone = run("-i", table(texts[:4], ["pos"] * 4), "--methods", "occlusion", "--n-samples", "2")
    assert (alone.exit_code, alone.stdout, "no text" in alone.stderr) == (1, "", True)


def test_options_that_cannot_be_stop_at_once(run, table):
    for arguments, message in [
        (("--metrics", "fidelity"), "unknown metric 'fidelity'; did you mean 'infidelity'"),
        (("--operator", "zero"), "expected one that box has: delete"),
        (("--methods", "mase-cone"), "needs an embedding layer"),
    ]:
        found = run("-i", table(), *arguments)
        assert (found.exit_code, found.stdout) == (1, "")
        assert message in found.stderr
    for arguments, message in [
        ((), "got no texts"),
        (("-i", table(), "--methods", ""), "got nothing to judge"),
        (("-i", table(), "--methods", " , "), "got nothing to judge"),
        (("-i", table(), "--metrics", ""), "got nothing to judge by, expected --metrics"),
        (("-i", table(), "--metrics", ","), "got nothing to judge by"),
        (("-i", table(), "--k", "0,5"), "no list of whole numbers"),
        (("-i", table(), "--where", "split"), "has no '='"),
        (("-i", table(), "--where", "split=a", "--where", "split=b"), "'split' is given twice"),
        (("-i", table(), "--n-texts", "2", "--batches", "3"), "at least one text in each"),
    ]:
        found = run(*arguments)
        assert (found.exit_code, message in found.stderr) == (2, True)


def test_no_file_that_is_read_is_written(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps([{"good": 1.0}] * 6), encoding="utf-8")
    before = Path(table()).read_bytes(), mine.read_bytes()
    given = ("-i", table(), "--attributions", f"mine={mine}")
    for output, option in [(table(), "--input"), (tmp_path / "." / "mine.json", "--attributions mine")]:
        found = run(*given, "-o", output)
        assert (found.exit_code, f"{option} and --output are the same file" in found.stderr) == (2, True)
    assert (Path(table()).read_bytes(), mine.read_bytes()) == before


def test_two_attributions_may_be_read_from_one_file(run, table, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps([{"good": 1.0, "dull": -1.0}] * 6), encoding="utf-8")
    run("-i", table(), "--attributions", f"a={mine}", "--attributions", f"b={mine}", "-o", tmp_path / "out.json")
    assert (tmp_path / "out.json").is_file()


def test_output_to_a_dash_is_json_on_standard_output(run, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("-i", table(), "-o", "-")
    assert (found.exit_code, json.loads(found.stdout)["schema"]) == (0, "mase.evaluation/1")
    assert not (tmp_path / "-").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_line(run, table):
    found = run("-i", table(), "-o", "/dev/full")
    assert (found.exit_code, found.stdout) == (1, "")
    assert "mase: error: cannot write '/dev/full': No space left on device; choose another path\n" in found.stderr


def test_attributions_made_elsewhere(run, table, tmp_path):
    pairs = tmp_path / "mine.json"
    worth = {"good": 1.0, "dull": -1.0, "film": 0.0, "the": 0.0, "such": 0.1}
    pairs.write_text(json.dumps([worth] * 6), encoding="utf-8")
    document = json.loads(run("-i", table(), "--attributions", f"mine={pairs}", "--json").stdout)
    assert list(document["methods"]) == ["mase-mask", "mine"]
    assert document["differences"][0]["first"] == "mase-mask"
    pairs.write_text(json.dumps([[["a", 0.0]]] * 6), encoding="utf-8")
    found = run("-i", table(), "--attributions", f"mine={pairs}")
    assert found.exit_code == 1
    assert re.search(r"row 1, mine: (word 'good' at position 2 has no score|the scores)", found.stderr)
    assert "mase-mask" in found.stdout  # the method is judged all the same
    pairs.write_text(
        json.dumps([worth, {"good": "high"}, worth, worth | {"film": None}, worth, worth]), encoding="utf-8"
    )
    found = run("-i", table(), "--attributions", f"mine={pairs}", "--json")
    assert json.loads(found.stdout)["methods"]["mine"]["summaries"][0]["n"] == 4
    assert "row 4, mine: the attribution holds ('film', None), expected (word, score) with a number" in found.stderr
    assert found.exit_code == 1
    shap = {"values": [[0.5, -0.5]] * 4, "data": ["a ", "good ", "film ", "here"]}
    tensor = [[0.5, 0.5]] * 3  # one row per word, which are this model's tokens
    pairs.write_text(json.dumps([tensor, shap, worth, worth, worth, worth]), encoding="utf-8")
    found = run("-i", table(), "--attributions", f"mine={pairs}", "--json")
    assert json.loads(found.stdout)["methods"]["mine"]["summaries"][0]["n"] == 5, found.stderr
    for arguments, message in [
        (("--attributions", f"mase-mask={pairs}"), "are both methods and given attributions"),
        (("--attributions", f"mine={pairs}", "--metrics", "seed-agreement"), "makes scores anew"),
    ]:
        found = run("-i", table(), *arguments)
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
        assert message in found.stderr


def test_the_pairs_of_an_attribution_are_judged_as_it_is(table, tmp_path):
    """`Attribution.as_list` has the words without the punctuation between them, which the LSTM does not read."""
    explained = [mase.explain(text, "lstm-imdb", n_samples=64) for text in TEXTS]
    pairs, ours = tmp_path / "pairs.json", tmp_path / "ours.jsonl"
    pairs.write_text(json.dumps([one.as_list() for one in explained]), encoding="utf-8")
    ours.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in explained), encoding="utf-8")
    given = ("--attributions", f"pairs={pairs}", "--attributions", f"ours={ours}", "--methods", "", "--k", "1,2,3")
    found = CliRunner().invoke(main, ["evaluate", "-i", table(), *given, "--json"])
    assert found.exit_code == 0, found.stderr
    methods = json.loads(found.stdout)["methods"]
    assert methods["pairs"]["summaries"] == methods["ours"]["summaries"]


def test_attributions_in_order_are_as_many_as_rows(run, table, tmp_path):
    scores = tmp_path / "scores.json"
    given = ("--attributions", f"mine={scores}")
    path = Path(table())
    rows = [
        json.loads(line) | {"split": "test" if number else "train"}
        for number, line in enumerate(path.read_text().splitlines())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for n, where, expected in [
        (5, (), "has 5 attributions, expected 6: one for each row of the table"),
        (7, (), "has 7 attributions, expected 6"),
        (5, ("--where", "split=test"), "has 5 attributions, expected at least 6: one for each row, in order"),
    ]:
        scores.write_text(json.dumps([{"film": 1.0, "good": 1.0}] * n), encoding="utf-8")
        found = run("-i", path, *where, *given)
        assert (found.exit_code, found.stdout, expected in found.stderr) == (1, "", True), found.stderr
    scores.write_text(json.dumps([{"film": 1.0, "good": 1.0}] * 6), encoding="utf-8")
    assert run("-i", path, "--where", "split=test", *given).exit_code == 0


def test_attributions_of_another_model_or_class_are_not_judged(run, table, tmp_path, monkeypatch):
    mine = tmp_path / "mine.jsonl"
    model = mase.models.Callable(predict, labels=["neg", "pos"])
    explained = [
        replace(mase.Explainer(model, n_samples=32)(text, target="pos"), model={"name": "b"}) for text in TEXTS
    ]
    mine.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in explained), encoding="utf-8")
    found = run("-i", table(), "--attributions", f"mine={mine}", "--json")
    document = json.loads(found.stdout)
    assert document["methods"]["mine"]["summaries"][0]["n"] == LABELS.count("pos")
    assert found.stderr.count("mine: the attribution explains the class 'pos', expected 'neg', which is judged") == 2
    others = [replace(one, model={"name": "b", "sha256": "f" * 64}) for one in explained]
    mine.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in others), encoding="utf-8")
    monkeypatch.setattr(mase.models.Callable, "sha256", "0" * 64)
    found = run("-i", table(), "--attributions", f"mine={mine}")
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    assert "explains the model b (sha256 ffffffffffff), expected box (sha256 000000000000)" in found.stderr


def test_attributions_of_mase_explain_bring_their_texts(run, table, tmp_path):
    texts, mine = tmp_path / "texts.txt", tmp_path / "mine.jsonl"
    texts.write_text("a good film\n \na dull film\n", encoding="utf-8")
    explained = CliRunner().invoke(main, ["explain", "-i", str(texts), "-o", str(mine), "-q", "--n-samples", "32"])
    assert explained.exit_code == 1  # the blank line
    given = ("--attributions", f"mine={mine}", "--methods", "")
    document = json.loads(run(*given, "--json").stdout)
    assert (document["n_texts"], list(document["methods"])) == (2, ["mine"])
    by_text = json.loads(run("-i", table(TEXTS[:2], LABELS[:2]), *given, "--json").stdout)
    assert by_text["n_texts"] == 2
    missing = run("-i", table(), *given)
    assert "has no attribution of the text" in missing.stderr
    beside = run("-i", table(), "--attributions", f"mine={mine}", "--json")
    counts = [one["summaries"][0]["n"] for one in json.loads(beside.stdout)["methods"].values()]
    assert (counts, beside.exit_code) == ([6, 2], 1)


def test_an_interruption_shows_what_was_judged_before(run, table, monkeypatch):
    from mase.metrics.evaluator import Evaluator

    whole, seen = Evaluator.__call__, []

    def interrupted(self, text, attributions=None, **given):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(text)
        return whole(self, text, attributions, **given)

    monkeypatch.setattr(Evaluator, "__call__", interrupted)
    found = run("-i", table(), "--json")
    assert found.exit_code == 130
    assert json.loads(found.stdout)["n_texts"] == 2
    assert "interrupted: the results are those of 2 texts" in found.stderr


def test_the_help_names_every_metric_and_operator():
    text = " ".join(CliRunner().invoke(main, ["evaluate", "--help"]).stdout.split())
    metrics = next(option for option in command.params if option.name == "metrics")
    assert [name.strip(" .") for name in metrics.help.split(",")] == list(METRICS)
    operator = next(option for option in command.params if option.name == "operator")
    assert tuple(operator.type.choices) == get_args(Operator)
    assert "Judge how faithful" in text
