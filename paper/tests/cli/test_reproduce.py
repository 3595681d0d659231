"""Tests of `mase_paper.cli.reproduce`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from paper.tests.repository import ROOT, needs_repository

from mase.cli import main
from mase.errors import ModelError
from mase.methods import parse, resolve
from mase_paper.experiments import EXPERIMENTS
from mase_paper.experiments.records import FIELDS
from mase_paper.experiments.store import read
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.experiments.trial import Trial


def test_reproduce_replaces_only_its_own_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase_paper.experiments.runner.run", lambda *_: pytest.fail("the experiment was run"))
    (tmp_path / "table1.md").write_text("my table")
    for arguments in ([], ["--fresh"], ["--report-only"]):
        found = CliRunner().invoke(main, ["reproduce", "table1", "-o", ".", *arguments])
        assert (found.exit_code, "table1.md" in found.stderr) == (1, True)
    assert (tmp_path / "table1.md").read_text() == "my table"
    found = CliRunner().invoke(main, ["reproduce", "table1", "-o", "table1.md"])
    assert (found.exit_code, "table1.md" in found.stderr) == (1, True)


@pytest.mark.parametrize("option", ["--targets", "--methods"])
def test_a_list_without_a_name_is_not_all_names(option, tmp_path):
    found = CliRunner().invoke(main, ["reproduce", "table1", option, " ,", "--report-only", "-o", str(tmp_path)])
    assert (found.exit_code, option in found.stderr) == (2, True)


def test_settings_of_the_help_are_settings_that_the_method_has():
    for text in ("mase-nlgp+sigma=0.3+n_samples=500+seed=1", "mase+design=focused(p_high=0.95;p_low=0.05)"):
        given = parse(text)
        assert resolve(given.method, **dict(given.settings)).name == given.method


REVIEWS = [
    ("neg", "A dull and slow film with a terrible plot and wooden actors; a waste of two hours."),
    ("pos", "The cast is superb, the story moving and the music wonderful. I loved every minute of it."),
    ("neg", "Boring, badly written and poorly acted. The worst sequel that I have seen this year."),
    ("pos", "A charming little comedy with great performances; funny and touching from start to end."),
    ("neg", "I wanted to like it, but the jokes are awful and nothing makes sense. Avoid."),
    ("pos", "Excellent direction and a brilliant lead; one of the best films of the decade."),
    ("neg", ""),
    ("pos", "Terrible, awful, boring, the worst waste of time."),
]


NEWS = [
    ("earn", "Shr 12 cts vs 9 cts. Net 1,200,000 vs 900,000. Revs 15.1 mln vs 12.3 mln. Avg shrs 10 mln."),
    ("acq", "The company said it agreed to acquire all outstanding shares of the firm for 25 dlrs a share in cash."),
    ("crude", "OPEC ministers met to discuss oil prices and output quotas; crude fell to 18 dlrs a barrel."),
    ("grain", "The department reported wheat and corn exports of 2 mln tonnes; soybean sales to China rose."),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with the two data sets: some texts are classified wrongly, one has no word."""
    folder = tmp_path_factory.mktemp("data")
    for name, rows in (("imdb", REVIEWS), ("reuters46", NEWS)):
        table = [{"split": "test", "id": i, "label": label, "text": text} for i, (label, text) in enumerate(rows)]
        pq.write_table(pa.Table.from_pylist(table), folder / f"{name}.parquet")
    return folder


@pytest.fixture
def reproduce(data, tmp_path):
    """Run `mase reproduce ...` into a folder of this test."""

    def run(*arguments):
        return CliRunner().invoke(
            main, ["reproduce", *arguments, "--data-dir", str(data), "-o", str(tmp_path / "results")]
        )

    return run


def records(tmp_path, target, configuration):
    return read(tmp_path / "results" / "records", target)[configuration]


def timeless(tmp_path):
    """Return the records of a run by target, configuration and text, without the seconds."""
    return {
        (target, configuration, number): {name: getattr(one, name) for name in FIELDS if name != "seconds"}
        for target in TARGETS
        for configuration, found in read(tmp_path / "results" / "records", target).items()
        for number, one in found.by_number.items()
    }


def test_choices_are_those_of_the_library():
    from mase_paper.cli.reproduce import reproduce as verb

    options = {option.name: option for option in verb.params}
    assert set(options["name"].type.choices) == set(EXPERIMENTS)
    assert all(name in options["targets"].help for name in TARGETS)


@needs_repository
def test_every_option_is_documented():
    from mase_paper.cli.reproduce import reproduce as verb

    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for option in verb.params:
        assert max(option.opts, key=len) in page or option.name == "name"


@pytest.mark.slow
def test_table1(reproduce, tmp_path):
    found = reproduce(
        "table1",
        "--n-texts",
        "2",
        "--methods",
        "random,kernel-shap+n_samples=64,mase-paper+n_samples=64,mase-sparse+n_samples=64",
    )
    assert found.exit_code == 0, found.output
    page = (tmp_path / "results" / "table1.md").read_text(encoding="utf-8")
    assert "## LSTM-IMDB (`tab:performance1`)" in page
    assert "## LSTM-Reuters (`tab:performance1`)" in page
    assert page.count("paper 0.") == 8  # one row as the paper has it, two targets, four k
    plain = json.loads((tmp_path / "results" / "table1.json").read_text(encoding="utf-8"))
    assert len(plain["cells"]) == 2 * 4 * 3 * 4
    (source,) = [
        one for one in plain["sources"] if (one["target"], one["spec"]) == ("lstm-imdb", "mase-sparse+n_samples=64")
    ]
    assert source["method"]["estimator"]["name"] == "sparse"
    assert len(source["model"]["sha256"]) == len(source["data"]["sha256"]) == 64
    assert source["operators"] == ["unk", "pad", "delete"]
    assert source["n_texts"] == 2
    assert {"numpy", "torch"} <= set(source["made_on"][0]["versions"])
    assert str(tmp_path) not in page + json.dumps(plain)
    names = ("table1.md", "table1.json", "table1.csv", "table1.tex", "table1-means.svg")
    assert found.stdout.splitlines() == [str(tmp_path / "results" / name) for name in names]
    assert "lstm-imdb: 2 more texts" in found.stderr


@pytest.mark.slow
def test_table2(reproduce, tmp_path, minilm):
    found = reproduce("table2", "--n-texts", "1", "--targets", "bert-imdb", "--methods", "random,occlusion,deep-shap")
    assert found.exit_code == 0, found.output
    assert "bert-imdb: deep-shap is left out: " in found.stderr
    (header,) = records(tmp_path, "bert-imdb", "occlusion").headers
    assert header["operators"] == ["mask", "pad", "delete", "zero"]
    assert "BERT-IMDB, masked by deletion" in (tmp_path / "results" / "table2.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_figure4(reproduce, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("mase_paper.experiments.figure4.BUDGETS", (100, 250))
    found = reproduce("figure4", "--n-texts", "1", "--targets", "lstm-imdb", "--methods", "mase-paper,gradient")
    assert found.exit_code == 0, found.output
    assert len(read(tmp_path / "results" / "records", "lstm-imdb")) == 1 + 2 + 1
    assert [path.name for path in (tmp_path / "results" / "records").iterdir()] == ["lstm-imdb.parquet"]
    assert "<svg" in (tmp_path / "results" / "figure4-evaluations.svg").read_text(encoding="utf-8")
    assert {path.suffix for path in (tmp_path / "results").iterdir()} == {"", ".md", ".json", ".csv", ".tex", ".svg"}


@pytest.mark.slow
def test_faithfulness(reproduce, tmp_path):
    found = reproduce(
        "faithfulness", "--n-texts", "2", "--targets", "lstm-imdb", "--methods", "mase+n_samples=64,occlusion,greedy"
    )
    assert found.exit_code == 0, found.output
    plain = json.loads((tmp_path / "results" / "faithfulness.json").read_text(encoding="utf-8"))
    assert plain["subject"] == "mase+n_samples=64"
    assert {comparison["other"] for comparison in plain["duels"]} == {"occlusion"}
    assert len(plain["ceilings"]) == 3 * 6
    assert plain["stability"][0]["n"] == 2


@pytest.mark.slow
def test_sweeps(reproduce, tmp_path):
    in_brackets = "mase+design=focused(rounds=2,p_high=0.8)+n_samples=64"
    configurations = f"mase-paper+sigma=0.1,{in_brackets},mase-paper+sigma=1.0"
    found = reproduce("sweeps", "--n-texts", "1", "--targets", "lstm-reuters", "--methods", configurations)
    assert found.exit_code == 0, found.output
    page = (tmp_path / "results" / "sweeps.md").read_text(encoding="utf-8")
    assert "| `mase-paper+sigma=1.0` |" in page
    assert records(tmp_path, "lstm-reuters", in_brackets).by_number


METHODS = ("--methods", "random,mase-paper+n_samples=32,mase-sparse+n_samples=32")


@pytest.mark.slow
def test_an_interrupted_run_goes_on_and_a_longer_one_extends_it(reproduce, tmp_path, monkeypatch):
    straight = reproduce("table1", "--targets", "lstm-imdb", "--n-texts", "4", *METHODS)
    assert straight.exit_code == 0, straight.output
    expected = timeless(tmp_path)
    assert len(expected) == 12
    (tmp_path / "results").rename(tmp_path / "straight")

    run, texts = Trial.run, []

    def interrupted(self, chosen, configurations):
        if len(texts) == 2:
            raise KeyboardInterrupt
        texts.append(chosen.number)
        return run(self, chosen, configurations)

    monkeypatch.setattr(Trial, "run", interrupted)
    assert reproduce("table1", "--targets", "lstm-imdb", "--n-texts", "3", *METHODS).exit_code == 130
    assert set(records(tmp_path, "lstm-imdb", "random").by_number) == {0, 1}
    monkeypatch.setattr(Trial, "run", lambda *rest: texts.append(rest[1].number) or run(*rest))
    assert reproduce("table1", "--targets", "lstm-imdb", "--n-texts", "3", "--methods", "random").exit_code == 0
    found = reproduce("table1", "--targets", "lstm-imdb", "--n-texts", "4", *METHODS)
    assert found.exit_code == 0, found.output
    assert "lstm-imdb: 2 of at most 4 texts have records" in found.stderr
    assert texts == [0, 1, 2, 2, 3]  # nothing is asked twice: text 2 was there for `random` only
    assert timeless(tmp_path) == expected


def children(pid):
    """Return the processes below a process, as Linux lists them."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [int(child) for child in found]


@pytest.mark.faults
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes as Linux lists them")
def test_a_killed_run_of_two_processes_goes_on_as_one(reproduce, data, tmp_path):
    arguments = ["table1", "--targets", "lstm-imdb", "--methods", "mase-paper+n_samples=500", "--n-texts", "4"]
    command = [
        sys.executable,
        "-m",
        "mase",
        "reproduce",
        *arguments,
        "--data-dir",
        str(data),
        "-o",
        str(tmp_path / "results"),
    ]
    settings = {"stderr": subprocess.PIPE, "text": True, "env": os.environ | {"OMP_NUM_THREADS": "1"}}
    with subprocess.Popen([*command, "--jobs", "2"], **settings) as process:
        assert any("1 more texts" in line for line in process.stderr)
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
    assert len(workers) >= 2
    known = set(records(tmp_path, "lstm-imdb", "mase-paper+n_samples=500").by_number)
    assert 0 in known
    assert reproduce(*arguments).exit_code == 0
    resumed = timeless(tmp_path)
    assert reproduce(*arguments, "--fresh").exit_code == 0
    assert timeless(tmp_path) == resumed
    assert len(resumed) == 4
    deadline = time.monotonic() + 300
    while not all(map(ended, workers)):
        assert time.monotonic() < deadline, "processes were left behind"
        time.sleep(0.1)


def ended(pid):
    """Return whether a process is gone, or dead and not yet collected by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.slow
def test_other_settings_than_those_of_the_records_are_refused(reproduce, tmp_path):
    once = ("table1", "--targets", "lstm-imdb", "--n-texts", "1", "--methods", "occlusion")
    assert reproduce(*once).exit_code == 0
    found = reproduce(*once, "--text-seed", "1")
    assert found.exit_code == 1
    assert re.search(
        r"mase: error: .*holds records of occlusion on lstm-imdb with --text-seed 0, expected 1; .*--fresh",
        found.stderr,
    )
    assert reproduce(*once, "--text-seed", "1", "--fresh").exit_code == 0
    assert records(tmp_path, "lstm-imdb", "occlusion").headers[0]["text_seed"] == 1


@pytest.mark.slow
def test_report_only_asks_nothing(reproduce, tmp_path, monkeypatch):
    assert reproduce("table1", "--targets", "lstm-imdb", "--n-texts", "1", "--methods", "random").exit_code == 0
    page = (tmp_path / "results" / "table1.md").read_text(encoding="utf-8")
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    found = reproduce("table1", "--report-only", "--targets", "lstm-imdb", "--n-texts", "1")
    assert found.exit_code == 0, found.output
    assert "| `random`<br>paper: Random |" in page
    assert "| `random`<br>paper: Random |" in (tmp_path / "results" / "table1.md").read_text(encoding="utf-8")


def test_a_failing_text_is_named_and_the_records_stay(reproduce, tmp_path, monkeypatch):
    run = Trial.run

    def failing(self, chosen, configurations):
        if chosen.number == 1:
            raise ModelError("the model fell over")
        return run(self, chosen, configurations)

    monkeypatch.setattr(Trial, "run", failing)
    found = reproduce("table1", "--targets", "lstm-imdb", "--n-texts", "3", "--methods", "random")
    assert found.exit_code == 1
    assert "the model fell over" in found.stderr
    assert set(records(tmp_path, "lstm-imdb", "random").by_number) == {0}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.slow
def test_answers_are_kept_for_the_next_run(reproduce, tmp_path, jobs):
    shared = ["--targets", "lstm-imdb", "--answers", str(tmp_path / "kept"), "--jobs", jobs]
    first, second = "kernel-shap+n_samples=80", "kernel-shap+link=margin+n_samples=80"
    assert reproduce("sweeps", *shared, "--n-texts", "2", "--methods", first).exit_code == 0
    kept = {path: path.read_bytes() for path in tmp_path.glob("kept/*/*.npz")}
    assert len(kept) == 2
    assert json.loads(next(tmp_path.glob("kept/*/about.json")).read_text())["model"]["name"] == "lstm-imdb"
    # One text is enough for what follows: each process takes seconds to start.
    assert reproduce("sweeps", *shared, "--n-texts", "1", "--methods", second).exit_code == 0
    assert {path: path.read_bytes() for path in tmp_path.glob("kept/*/*.npz")} == kept  # nothing new was asked
    for path in kept:
        path.write_bytes(b"")
    found = reproduce("sweeps", *shared, "--n-texts", "1", "--methods", first, "--fresh")
    assert (found.exit_code, any(path.name in found.stderr for path in kept)) == (1, True)


@pytest.mark.parametrize("taken", ["records", "table1.md/below"])
def test_a_folder_that_cannot_be_written_is_told_before_any_model_is_asked(reproduce, tmp_path, monkeypatch, taken):
    path = tmp_path / "results" / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    monkeypatch.setattr("mase_paper.experiments.runner.run", lambda *_: pytest.fail("the run began"))
    found = reproduce("table1")
    assert (found.exit_code, found.stderr.count("\n"), path.read_text()) == (1, 1, "mine")
    assert str(tmp_path / "results") in found.stderr


@pytest.mark.parametrize(
    "arguments", [["table3"], ["table1", "--n-texts", "0"], ["table1", "--batches", "1"], ["table1", "--jobs", "0"]]
)
def test_usage_errors(reproduce, arguments):
    assert reproduce(*arguments).exit_code == 2


@pytest.mark.parametrize("arguments", [["--targets", "gpt"], ["--methods", "mase+colour=red"], ["--methods", "maze"]])
def test_unknown_names_are_one_line(reproduce, arguments):
    found = reproduce("table1", "--n-texts", "1", *arguments)
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr.splitlines()[-1].startswith("mase: error: unknown ")


def test_sigterm_ends_an_experiment(reproduce, monkeypatch):
    monkeypatch.setattr("mase_paper.experiments.runner.run", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    found = reproduce("table1")
    assert (found.exit_code, found.stderr.count("\n")) == (143, 1)


def test_the_verbs_stand_in_the_help_and_load_no_framework():
    code = "import sys; from mase.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(re.search(rf"^  {verb} ", found, re.MULTILINE) for verb in ("reproduce", "train"))
    loaded = set(found.splitlines()[-1].split())
    assert "mase_paper.cli.reproduce" in loaded
    assert {"numpy", "scipy", "torch", "transformers", "matplotlib", "pyarrow"}.isdisjoint(loaded)
