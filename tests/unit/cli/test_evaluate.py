"""Tests of `mase.cli.evaluate`."""

import errno
import json
import os
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from click.testing import CliRunner
from tests.labelled_texts import LABELS, TEXTS, predict

import mase
from mase.cli import files as output_files
from mase.cli import main
from mase.cli.evaluate import evaluate as command
from mase.metrics import METRICS, Operator
from mase.models.torch.engine import multiplies_bfloat16


@pytest.fixture
def evaluate(cli, tmp_path):
    """Run `mase evaluate ...` on a table of six texts."""
    (tmp_path / "in.csv").write_text("text\n" + "".join(f"a good film {n}\n" for n in range(6)))

    def run(*arguments):
        common = [
            "evaluate",
            "-i",
            "in.csv",
            "--methods",
            "lime",
            "--metrics",
            "comprehensiveness",
            "--n-samples",
            "20",
        ]
        return CliRunner().invoke(main, [*common, *arguments])

    return run


def test_evaluate_replaces_only_what_it_may(evaluate, tmp_path):
    output = tmp_path / "out.json"
    output.write_text("older")
    found = evaluate("-o", "out.json")
    assert (found.exit_code, output.read_text()) == (1, "older")
    assert "--overwrite" in found.stderr
    (tmp_path / "hard.json").hardlink_to(tmp_path / "in.csv")
    assert evaluate("-o", "hard.json", "--overwrite").exit_code == 2
    assert evaluate("-o", "out.json", "--overwrite").exit_code == 0
    assert json.loads(output.read_text())["n_texts"] == 6
    assert evaluate("-o", "new.json").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.json", "in.csv", "new.json", "out.json"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_evaluate_that_is_ended_replaces_nothing(evaluate, tmp_path, monkeypatch, number, code):
    from mase.metrics.evaluation import Evaluator

    call, seen = Evaluator.evaluated, []

    def killed(self, text, attributions=None, **given):
        seen.append(text)
        if len(seen) % 4 == 3:
            os.kill(os.getpid(), number)
        return call(self, text, attributions, **given)

    monkeypatch.setattr(Evaluator, "evaluated", killed)
    (tmp_path / "older.json").write_text("older")
    for output, written in (("new.json", "new.json"), ("older.json", "older.json.draft")):
        seen.clear()
        assert evaluate("-o", output, "--overwrite").exit_code == code
        assert json.loads((tmp_path / written).read_text())["n_texts"] == 2
    assert (tmp_path / "older.json").read_text() == "older"
    found = evaluate("-o", "older.json", "--overwrite")
    assert (found.exit_code, "older.json.draft" in found.stderr) == (1, True)


def test_half_precision_is_for_the_explanations():
    """A trial of 16 rows in both precisions, on a processor that has both; the model itself is judged in its own."""
    trial = 32 if multiplies_bfloat16(torch.device("cpu")) else 0
    options = ["-i", "examples/reviews.csv", "--n-texts", "2", "--n-samples", "50", "--methods", "mase", "--json"]
    exact, half = (
        json.loads(CliRunner().invoke(main, ["evaluate", *options, "--precision", precision]).stdout)
        for precision in ("float32", "bfloat16")
    )
    assert (exact["precision"], half["precision"]) == ("float32", "bfloat16")
    asked = [found["methods"]["mase"]["cost"]["n_queries"] for found in (exact, half)]
    assert asked[1] == pytest.approx(asked[0] + trial, abs=3)  # some rows are asked again to compare them
    assert [text["probability"] for text in half["texts"]] == [text["probability"] for text in exact["texts"]]


def test_a_function_of_texts_has_no_half_precision(run, table):
    found = run("-i", table(), "--precision", "bfloat16")
    assert found.exit_code == 1
    assert "half precision requires a torch model" in found.stderr


def test_a_file_in_the_order_of_rows_needs_them(run, table, tmp_path):
    ours, ordered = tmp_path / "mine.jsonl", tmp_path / "other.jsonl"
    mase.Explainer(mase.models.Callable(predict, labels=["neg", "pos"]), n_samples=32)("a good film").save(ours)
    ordered.write_text('{"good": 1}\n')
    found = run("--attributions", f"mine={ours}", "--attributions", f"other={ordered}")
    assert found.exit_code == 1
    assert "and follows the rows of a table, expected --input FILE" in found.stderr


def test_options_that_cannot_be_stop_at_once(run, table):
    for arguments, message in [
        (("--metrics", "aopc", "--k", "3"), "got k=[3] and no metric that masks k words"),
        (("--label", "odd=nowhere"), "unknown label 'nowhere'"),
        (("--metrics", "fidelity"), "unknown metric 'fidelity'; did you mean 'infidelity'"),
        (("--operator", "zero"), "expected one that box has: delete\n"),
        (("--methods", "mase-cone"), "needs an embedding layer"),
        (
            ("--methods", "lime+samples=9"),
            "did you mean 'n_samples'? known: center, design, estimator, link, n_samples,",
        ),
    ]:
        found = run("-i", table(), *arguments)
        assert (found.exit_code, found.stdout) == (1, "")
        assert message in found.stderr
    for arguments, message in [
        ((), "got no texts"),
        (("--attributions", "a=b.jsonl", "--where", "split=a"), "got --where without a table"),
        (("--attributions", "a=b.jsonl", "--label-column", "x"), "got --label-column without a table"),
        (("--attributions", "a=b.jsonl", "--label", "x=y"), "got --label without a table"),
        (("-i", table(), "--methods", ""), "got nothing to evaluate"),
        (("-i", table(), "--methods", " , "), "got nothing to evaluate"),
        (("-i", table(), "--metrics", ""), "got no metrics, expected --metrics"),
        (("-i", table(), "--metrics", ","), "got no metrics"),
        (("-i", table(), "--k", "0,5"), "not a list of integers"),
        (("-i", table(), "--where", "split"), "has no '='"),
        (("-i", table(), "--where", "split=a", "--where", "split=b"), "'split' is given twice"),
        (("-i", table(), "--n-texts", "2", "--batches", "3"), "got 3 batches of 2 texts"),
        (("-i", table([*TEXTS[:5], None], name="gap.jsonl"), "--batches", "6"), "got 6 batches of 5 texts"),
    ]:
        found = run(*arguments)
        assert (found.exit_code, message in found.stderr) == (2, True)


def test_a_method_can_be_compared_with_itself_at_other_settings(run, table):
    methods = "mase,mase+n_samples=16,mase+design=focused(rounds=3, n_top=4)+link=probability"
    found = run("-i", table(), "--methods", methods, "--n-samples", "8", "--json")
    by_method = json.loads(found.stdout)["methods"]
    assert list(by_method) == ["mase", "mase+n_samples=16", "mase+design=focused(rounds=3, n_top=4)+link=probability"]
    assert by_method["mase"]["cost"]["n_queries"] < by_method["mase+n_samples=16"]["cost"]["n_queries"]


def test_no_file_that_is_read_is_written(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
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


@pytest.mark.parametrize("name", ["out.csv", "out.md", "out.tex", "out.xyz"])
def test_json_goes_to_no_file_with_another_suffix(run, table, tmp_path, name):
    found = run("-i", table(), "-o", tmp_path / name)
    assert (found.exit_code, f"{name}, expected a file that ends in .json" in found.stderr) == (2, True)
    assert not (tmp_path / name).exists()


def test_output_to_a_dash_is_json_on_standard_output(run, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("-i", table(), "-o", "-")
    assert (found.exit_code, json.loads(found.stdout)["schema"]) == (0, "mase.evaluation/1")
    assert not (tmp_path / "-").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_loses_neither_what_is_printed_nor_other_files(run, table, tmp_path):
    whole = run("-i", table())
    found = run("-i", table(), "-o", "/dev/full", "--table", tmp_path / "out.csv")
    tables = [[line for line in one.stdout.splitlines() if line.startswith("mase-mask")] for one in (whole, found)]
    assert (found.exit_code, tables[1][0]) == (1, tables[0][0])
    assert found.stderr.count("mase: error: cannot write '/dev/full': No space left on device; choose another") == 1
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("table,")
    (tmp_path / "full.csv").symlink_to("/dev/full")
    both = run("-i", table(), "-o", "/dev/full", "--table", tmp_path / "full.csv", "--json")
    assert (both.exit_code, json.loads(both.stdout)["schema"]) == (1, "mase.evaluation/1")
    assert all(f"cannot write '{name}'" in both.stderr for name in ("/dev/full", tmp_path / "full.csv"))


def test_a_pipe_whose_reader_has_left_loses_nothing_else(run, table, tmp_path, monkeypatch):
    write = output_files.write_stream

    def left(path, content):
        if path.suffix == ".csv":
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        write(path, content)

    monkeypatch.setattr(output_files, "write_stream", left)
    found = run("-i", table(), "--table", tmp_path / "out.csv", "-o", tmp_path / "out.json", "--json")
    assert (found.exit_code, json.loads(found.stdout)["schema"]) == (1, "mase.evaluation/1")
    assert "out.csv" in found.stderr
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == found.stdout


def test_a_link_decides_the_format_of_its_file(run, table, tmp_path):
    for name, link in (("table", "out.csv"), ("picture.bin", "out.svg")):
        (tmp_path / link).symlink_to(tmp_path / name)
    found = run("-i", table(), "--table", tmp_path / "out.csv", "--plot", tmp_path / "out.svg")
    assert found.exit_code == 0
    assert (tmp_path / "table").read_text(encoding="utf-8").startswith("table,")
    assert b"<svg" in (tmp_path / "picture.bin").read_bytes()


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
        (("--attributions", f"mine={pairs}", "--metrics", "seed-agreement"), "has to explain the text again"),
    ]:
        found = run("-i", table(), *arguments)
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
        assert message in found.stderr


@pytest.mark.slow
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
    assert found.stderr.count("mine: the attribution explains the class 'pos', expected 'neg'") == 2
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


def test_the_help_names_every_metric_and_operator():
    text = " ".join(CliRunner().invoke(main, ["evaluate", "--help"]).stdout.split())
    metrics = next(option for option in command.params if option.name == "metrics")
    assert [name.strip(" .") for name in metrics.help.split(",")] == list(METRICS)
    operator = next(option for option in command.params if option.name == "operator")
    assert tuple(operator.type.choices) == get_args(Operator)
    assert "Evaluate how faithful" in text


def test_how_rows_were_read_is_recorded(run, table, monkeypatch):
    given = ("--where", "text=a film", "--label", "pos=pos", "--methods", "random", "--json")
    provenance = json.loads(run("-i", table(), *given).stdout)
    assert provenance["data"] | {"where": {"text": "a film"}, "label": {"pos": "pos"}} == provenance["data"]
    model = mase.models.Callable(lambda rows: [[0.5 - row["n"] / 10, 0.5 + row["n"] / 10] for row in rows])
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: model)
    background = ("--fields", "text,n", "--background", "n=1", "--methods", "random", "--json")
    provenance = json.loads(run("-i", table(labels=["0"] * 6, n=3), *background).stdout)
    assert (provenance["background"], provenance["data"]["fields"]) == ({"n": 1}, ["text", "n"])
