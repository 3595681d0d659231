"""Tests of `mase.cli.evaluation`."""

import csv
import io
import json
import re
import sys
from collections import Counter

import numpy as np
import pytest
from tests.labelled_texts import LABELS, TEXTS, predict

import mase
from mase.errors import DataError, ModelError
from mase.metrics.tables import FORMATS
from mase.render.figure import PICTURES
from mase.sources.labelled import read_labelled


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
    assert "could be evaluated and is classified correctly" in none.stderr


def test_a_column_of_numbers_is_read_in_one_way(run, table, monkeypatch):
    """Classes are called 1 and 2, labels are 0 and 1: indices, of which one is also the name of another class."""
    model = mase.models.Callable(predict, labels=["1", "2"])
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: model)
    labels = [str(index) for index in predict(TEXTS).argmax(1)]
    for written in (labels, [model.labels[int(label)] for label in labels]):
        document = json.loads(run("-i", table(labels=written), "--json").stdout)
        assert document["accuracy"] == {"share": 1.0, "n": 6}


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
    assert "2 texts evaluated, 2 failed" in found.stderr
    assert issubclass(ModelError, mase.MaseError)


def test_a_row_without_a_text_costs_that_row(run, table):
    found = run("-i", table(["a good film", None, 3, "a dull film"], ["pos", "pos", "neg", "neg"]), "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [1, 4]
    assert "row 2: 'text' is of type NoneType, expected a string" in found.stderr
    assert "row 3: 'text' is of type int" in found.stderr
    path = table([None, None], ["pos", "neg"])
    with pytest.raises(DataError, match="has no valid row; row 1: 'text' is of type NoneType, expected a string"):
        read_labelled(path)


def test_a_row_that_cannot_be_read_costs_that_row(run, tmp_path):
    lines = ['{"text": "a good film", "label": "pos"}', '{"label": "pos"}', '{"text": ', "[1]", "\udcff", "[" * 100_000]
    path = tmp_path / "texts.jsonl"
    path.write_bytes("\n".join([*lines, '{"text": "a dull film", "label": "neg"}']).encode("utf-8", "surrogateescape"))
    found = run("-i", path, "--json")
    assert found.exit_code == 1
    assert sorted(json.loads(found.stdout)["rows"]) == [1, 7]
    assert (
        "row 2: no column 'text', expected one of: 'label'; name the column of the texts with --text-column"
        in found.stderr
    )
    for row, message in [
        (3, "is not JSON"),
        (4, "is a list, expected an object"),
        (5, "can't decode byte"),
        (6, "not JSON"),
    ]:
        assert re.search(rf"row {row}: line {row} .*{message}", found.stderr)
    assert "2 texts evaluated, 5 failed" in found.stderr


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
    """Occlusion needs one row per word and one for the text: 6 rows are too few for 7 words, in any order of texts."""
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


def test_an_interruption_shows_what_was_judged_before(run, table, monkeypatch):
    from mase.metrics.evaluation import Evaluator

    whole, seen = Evaluator.evaluated, []

    def interrupted(self, text, attributions=None, **given):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(text)
        return whole(self, text, attributions, **given)

    monkeypatch.setattr(Evaluator, "evaluated", interrupted)
    found = run("-i", table(), "--json")
    assert found.exit_code == 130
    assert json.loads(found.stdout)["n_texts"] == 2
    assert "interrupted: the results are those of 2 texts" in found.stderr


def test_the_answer_that_is_judged_is_the_one_that_is_explained(run, table, monkeypatch):
    """A noisy model: its first answer about a text is right and each further one is wrong."""
    asked = Counter()

    def noisy(texts):
        asked.update(texts)
        return [[0.1, 0.9] if asked[text] == 1 else [0.9, 0.1] for text in texts]

    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: mase.models.Callable(noisy, labels=["neg", "pos"]))
    document = json.loads(
        run("-i", table(labels=["pos"] * 6), "--methods", "random", "--only-correct", "--json").stdout
    )
    assert {text["target"] for text in document["texts"]} == {1}
    assert document["accuracy"] == {"share": 1, "n": 6}


def test_a_text_without_a_predicted_label_is_not_classified_correctly(run, table, monkeypatch):
    """Of separate questions none is answered with yes, though the most probable one is that of the table."""
    model = mase.models.Callable(
        lambda texts: [[0.1, 0.9 if "good" in text else 0.4] for text in texts], labels=["neg", "pos"], multilabel=True
    )
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: model)
    path = table(["a good film", "a dull film"], ["pos", "pos"])
    document = json.loads(run("-i", path, "--methods", "random", "--only-correct", "--json").stdout)
    assert (document["rows"], document["accuracy"]) == ([1], {"share": 0.5, "n": 2})


def test_labels_as_pandas_writes_integers_with_a_gap(run, tmp_path):
    """An empty cell is no label, and a whole number may be written as a decimal."""
    path = tmp_path / "texts.csv"
    path.write_text("text,label\na good film,1.0\na dull film,0.0\na film,\na good cast,1\n", encoding="utf-8")
    found = run("-i", path, "--json")
    assert (found.exit_code, found.stderr.count("error")) == (0, 0)
    document = json.loads(found.stdout)
    assert (sorted(document["rows"]), document["accuracy"]) == ([1, 2, 3, 4], {"share": 1, "n": 3})
    turned = run("-i", path, "--label", "1=neg", "--label", "0=pos", "--json")
    assert json.loads(turned.stdout)["accuracy"] == {"share": 0, "n": 3}
    correct = run("-i", path, "--only-correct", "--json")
    assert sorted(json.loads(correct.stdout)["rows"]) == [1, 2, 4]


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
