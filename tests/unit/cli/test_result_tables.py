"""Tests of `mase.cli.result_tables`."""

import csv
import io
import json
import re
import sys

import numpy as np
import pytest

from mase.datasets.labelled import read_labelled
from mase.render.pictures import PICTURES
from mase.render.table import FORMATS


def test_the_table_on_standard_output(run, table):
    found = run("-i", table(), "--k", "1,3")
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines[0] == "6 texts, box, operator delete, 100 % of 6 classified correctly, means with 95 % intervals"
    assert re.search(r"^delta-accuracy +k=1 \(↑\) +k=3 \(↑\)$", found.stdout, re.MULTILINE)
    assert re.search(r"^comprehensiveness +mean \(↑\) +k=1 \(↑\) +k=3 \(↑\)$", found.stdout, re.MULTILINE)
    assert re.search(r"^mase-mask +0\.\d{3} \[0\.\d{3},[01]\.\d{3}\] ", found.stdout, re.MULTILINE)
    assert "6 texts evaluated" in found.stderr


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


def test_too_few_texts_for_the_batches_are_told(run, table):
    found = run("-i", table(labels=["neg"] * 6), "--only-correct", "--batches", "3", "--json")
    document = json.loads(found.stdout)
    assert (document["n_texts"], document["methods"]["mase-mask"]["summaries"][0]["sd"]) == (2, None)
    assert "no standard deviation over batches: 2 texts evaluated, 3 batches asked for\n" in found.stderr


def test_the_table_says_of_how_many_texts_a_mean_is(run, table):
    """NAOPC of a text on which nothing changes does not exist."""
    path = table(texts=["a good film", "the film", "such a film", "a dull film"], labels=["pos", "pos", "pos", "neg"])
    found = run("-i", path, "--metrics", "naopc,delta-accuracy", "--methods", "mase-mask")
    assert re.search(r"^naopc .*\nmase-mask .*\] \(2\)$", found.stdout, re.MULTILINE)
    assert re.search(r"^delta-accuracy .*\nmase-mask .*\]$", found.stdout, re.MULTILINE)


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


METRICS = {"delta-accuracy", "comprehensiveness", "cost per text", "agreement (Spearman)"}


def test_the_tables_go_to_files_too(run, table, tmp_path):
    paths = {ending: tmp_path / f"tables{ending}" for ending in FORMATS}
    options = [option for path in paths.values() for option in ("--table", path)]
    found = run("-i", table(), "--k", "1,3", "--methods", "mase-mask,random", *options)
    assert found.exit_code == 0
    cells = re.findall(r"\d\.\d{3} \[\d\.\d{3},\d\.\d{3}\]", found.stdout)
    assert cells
    written = {ending: path.read_text(encoding="utf-8") for ending, path in paths.items()}
    for ending, content in written.items():
        assert all(name in content for name in METRICS)
        assert ending == ".csv" or all(cell in re.sub(r"\\", "", content) for cell in cells)
    rows = list(csv.DictReader(io.StringIO(written[".csv"])))
    assert {row["table"] for row in rows} == METRICS
    numbers = ([float(row[name]) for name in ("mean", "low", "high")] for row in rows if row["low"])
    assert {f"{mean:.3f} [{low:.3f},{high:.3f}]" for mean, low, high in numbers} >= set(cells)
    assert {row["mark"] for row in rows} == {"best", "not worse", ""}
    seconds = [float(row["mean"]) for row in rows if row["column"] == "seconds"]
    assert len(seconds) == 2
    page = written[".html"]
    assert page.startswith("<!doctype html>")
    assert '<meta charset="utf-8">' in page
    assert "<title>Evaluation of box</title>" in page
    assert page.endswith("</table>\n</body>\n</html>\n")


def test_the_best_and_those_not_shown_to_be_worse_are_marked(run, table):
    """Of six texts no test can tell anything: whatever is not the best is not shown to be worse."""
    found = run("-i", table(), "--k", "1,3", "--methods", "mase-mask,random")
    cells = re.findall(r"\] ([*≈]?)", found.stdout)
    assert set(cells) == {"*", "≈"}
    assert found.stdout.splitlines()[1].startswith("* the best of a column, ≈ not shown to be worse")
    assert "≈" not in run("-i", table(), "--k", "1,3", "--methods", "mase-mask").stdout


@pytest.mark.parametrize("width", [40, 50, 80, 120])
def test_a_terminal_shows_every_number_whole(run, table, monkeypatch, width):
    monkeypatch.delenv("NO_COLOR", raising=False)
    arguments = ("-i", table(), "--k", "1,2,3,4,5,6", "--methods", "mase-mask,random")
    numbers = re.findall(r"\[.*?\]|=\d|-?\d\.\d\d\b", tables(run(*arguments)))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    shown = tables(run(*arguments))
    assert max(map(len, shown.splitlines())) <= width
    assert sorted(re.findall(r"\[.*?\]|=\d|-?\d\.\d\d\b", shown)) == sorted(numbers)


def tables(result):
    """Return what is printed from the first metric to the costs, and the agreement, without colours."""
    printed = re.sub(r"\x1b\[[\d;]*m", "", result.stdout)
    return (
        printed[printed.index("delta-accuracy") : printed.index("cost per text")]
        + printed[printed.index("agreement") :]
    )


def test_json_has_the_p_value_of_every_difference(run, table):
    document = json.loads(run("-i", table(), "--methods", "mase-mask,random", "--json").stdout)
    (pair,) = document["differences"]
    assert all(0 < column["p_value"] <= 1 for column in pair["columns"])


def test_the_picture_is_drawn(run, table, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "means.svg"
    found = run("-i", table(), "--k", "1,3", "--methods", "mase-mask,random", "--plot", path)
    assert found.exit_code == 0
    drawn = path.read_text(encoding="utf-8")
    assert all(
        f">{name}<" in drawn for name in ("mase-mask", "random", "delta-accuracy", "comprehensiveness", "k=3 (↑)")
    )


def test_without_matplotlib_no_text_is_evaluated(run, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = run("-i", table(), "--plot", tmp_path / "means.png")
    assert found.exit_code == 1
    assert "mase-xai[plot]" in found.stderr
    assert "evaluated" not in found.stderr


@pytest.mark.parametrize(("option", "endings"), [("--table", FORMATS), ("--plot", PICTURES)])
def test_a_file_of_another_kind_is_a_usage_error(run, table, tmp_path, option, endings):
    found = run("-i", table(), option, tmp_path / "tables.xlsx")
    assert found.exit_code == 2
    assert all(ending in found.stderr for ending in endings)
