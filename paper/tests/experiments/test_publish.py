"""Tests of `mase_paper.experiments.publish`."""

import csv
import io
import json
from pathlib import Path

import pytest
from paper.tests.experiments.samples import HEADER, bits, write

from mase.errors import DataError, UnknownNameError
from mase.methods import parse
from mase_paper.cli.reproduce import reproduce
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.publish import earlier_versions, publish


@pytest.mark.slow
def test_the_file_of_an_experiment_names_the_split_and_the_precision_of_its_records(tmp_path):
    made = HEADER | {"data": HEADER["data"] | {"split": "validation"}, "precision": "bfloat16"}
    write(tmp_path / "records", "lstm-imdb", "mase", [bits(1)] * 4, header=made)
    _, data, *_ = publish(EXPERIMENTS["ablation"], Scope(n_texts=4), tmp_path)
    expected = "mase reproduce ablation --data-dir DIR --n-texts 4 --precision bfloat16 --split validation"
    plain = json.loads(data.read_text(encoding="utf-8"))
    assert plain["command"] == expected
    (source,) = plain["sources"]
    assert source["command"] == "mase reproduce --n-texts 4"
    assert source["made_on"] == [{"n_texts": 4, "hardware": HEADER["hardware"], "versions": {}}]


@pytest.mark.slow
def test_tables_and_a_picture_are_written_beside_the_page(tmp_path, records):
    pytest.importorskip("matplotlib")
    written = publish(EXPERIMENTS["faithfulness"], Scope(targets=("lstm-imdb",), n_texts=40), records.parent)
    names = ["faithfulness.md", "faithfulness.json", "faithfulness.csv", "faithfulness.tex", "faithfulness-means.svg"]
    assert [path.name for path in written] == names
    numbers, latex, picture = (path.read_text(encoding="utf-8") for path in written[2:])
    rows = [row for row in csv.DictReader(io.StringIO(numbers)) if row["where"].endswith("unknown token")]
    marks = {(row["column"], row["method"]): row["mark"] for row in rows}
    assert len(rows) == 6 * 3
    assert (marks["T-5", "lime"], marks["T-5", "mase"]) == ("best", "")
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 3
    assert r"\textbf{1.000 [0.912,1.000]}" in latex
    assert all(f">{name}<" in picture for name in ("mase", "lime", "random", "LSTM-IMDB"))
    assert "![Delta Accuracy: means with intervals](faithfulness-means.svg)" in written[0].read_text(encoding="utf-8")


def test_results_go_to_a_folder_that_holds_none_of_ours():
    """By default: a short run of one's own must not write over the committed pages, or stumble over their records."""
    default = reproduce.make_context("reproduce", ["table1"]).params["output"]
    assert Path(default).parts[0] not in ("experiments", "benchmarks", "docs", "src", "tests")


def test_a_report_without_records_is_an_error(tmp_path):
    with pytest.raises(DataError, match="records has no records of table1 with these targets and methods"):
        publish(EXPERIMENTS["table1"], Scope(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_unknown_method_is_named(tmp_path, records):
    scope = Scope(targets=("lstm-imdb",), configurations=(parse("mase"), parse("lyme")), n_texts=40)
    with pytest.raises(UnknownNameError, match="unknown method 'lyme'; did you mean 'lime'"):
        publish(EXPERIMENTS["faithfulness"], scope, records.parent)


def test_records_of_a_design_with_other_settings_are_named_with_their_version():
    def source(spec, version, **design):
        method = {"design": {"name": "focused"} | design}
        return {"spec": spec, "made_on": [{"versions": {"mase-xai": version}}], "method": method}

    today = source("mase+seed=1", "0.2.0", rounds=5, n_top=15)
    procedure = {"spec": "random", "made_on": [], "method": {"procedure": {"name": "random"}}}
    assert earlier_versions([today, procedure]) == ""
    paragraph = earlier_versions([today, source("mase+n_samples=100", "0.1.0", n_alone=15), procedure])
    assert "`mase`" in paragraph
    assert "0.1.0" in paragraph
    assert "random" not in paragraph
