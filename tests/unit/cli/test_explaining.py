"""Tests of `mase.cli.explaining`."""

import json
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.labelled_texts import predict
from tests.model_folders import edit
from tests.unit.cli.runs import NUMBERED, same, texts_in

import mase
from mase.attribution.json import Failure, load_many
from mase.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


@pytest.mark.parametrize("cut", [0, 1, 10, 40, 3000, -1, -2])
@pytest.mark.slow
def test_append_goes_on_after_any_cut(cli, source, whole, tmp_path, cut):
    part = tmp_path / "part.jsonl"
    part.write_bytes(whole.read_bytes()[:cut])
    found = cli("-i", str(source), "-o", "part.jsonl", "--append")
    assert found.exit_code == 0
    assert same(part, whole)
    assert texts_in(part) == NUMBERED
    kept = whole.read_bytes()[:cut].rfind(b"\n") + 1
    assert part.read_bytes()[:kept] == whole.read_bytes()[:kept]  # and not made again
    assert ("incomplete" in found.stderr) == (cut != 0)


def test_append_reads_past_the_texts_of_a_stream(cli, whole, tmp_path):
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:5]))
    found = cli("-o", "part.jsonl", "--append", "--html", "page.html", input="".join(f"{text}\n" for text in NUMBERED))
    assert found.exit_code == 0
    assert same(part, whole)
    assert "7 texts explained" in found.stderr
    assert "12 texts explained" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_append_when_all_is_done_says_so(cli, source, whole):
    before = whole.read_bytes()
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert (found.exit_code, whole.read_bytes()) == (0, before)
    assert "all 12 texts" in found.stderr


def test_a_failure_counts_as_done_and_as_a_failure(cli, tmp_path):
    texts = ["a good film", "crash", "a film"]
    assert cli(*texts[:2], "-o", "out.jsonl").exit_code == 1
    before = (tmp_path / "out.jsonl").read_bytes()
    found = cli(*texts, "-o", "out.jsonl", "--append")
    assert found.exit_code == 1
    assert (tmp_path / "out.jsonl").read_bytes().startswith(before)
    assert [type(result) for result in load_many(tmp_path / "out.jsonl")][1:2] == [Failure]
    assert len(load_many(tmp_path / "out.jsonl")) == 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--seed", "1"], "seed"), (["--n-samples", "30"], "--n-samples"), (["--target", "neg"], "target"),
        (["--method", "lime"], "name"), (["--link", "probability"], "link"), (["--units", "token"], "units"),
        (["--tolerance", "0.1"], "tolerance"), (["--method", "mase+estimator=ridge"], "estimator"),
    ],
)  # fmt: skip
def test_append_refuses_results_made_otherwise(cli, source, whole, arguments, named):
    before = whole.read_bytes()
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append", *arguments)
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "line 1" in found.stderr
    assert named in found.stderr


@pytest.mark.parametrize("arguments", [[], ["--n-samples", "auto"], ["--stable-top", "2"]])
def test_append_knows_numbers_of_samples_that_follow_from_the_text(lstm_model, arguments, tmp_path, monkeypatch):
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: lstm_model)
    command, texts = ["explain", "-q", "-o", str(tmp_path / "a.jsonl")], ["a good film", "a dull film of two hours"]
    assert CliRunner().invoke(main, [*command, *arguments, texts[0]]).exit_code == 0
    assert CliRunner().invoke(main, [*command, *arguments, "--append", *texts]).exit_code == 0
    refused = CliRunner().invoke(main, [*command, "--n-samples", "300", "--append", *texts])
    assert (refused.exit_code, "--n-samples" in refused.stderr) == (1, True)


def test_append_refuses_other_results_than_those_of_automatic_samples(lstm_model, tmp_path, monkeypatch):
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: lstm_model)
    command = ["explain", "-q", "-o", str(tmp_path / "a.jsonl"), "a good film"]
    assert CliRunner().invoke(main, [*command, "--n-samples", "300"]).exit_code == 0
    refused = CliRunner().invoke(main, [*command, "--append"])
    assert (refused.exit_code, "--n-samples" in refused.stderr) == (1, True)


def test_append_refuses_results_of_another_model_or_text(cli, source, whole, tmp_path, monkeypatch):
    before = whole.read_bytes()
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join([*lines[:7], "another film\n", *lines[8:]]))
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "line 8" in found.stderr
    assert "another film" in found.stderr
    source.write_text("".join(lines[:5]))
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "line 6" in found.stderr
    source.write_text("".join(lines))
    other = mase.models.Callable(predict, labels=["neg", "pos"], name="other")
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: other)
    found = cli("-i", str(source), "-o", "whole.jsonl", "--append", "--html", "page.html")
    assert (found.exit_code, whole.read_bytes()) == (1, before)
    assert "other" in found.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_target_that_was_given_is_not_the_predicted_one(cli, tmp_path):
    assert cli("a good film", "-o", "out.jsonl", "--target", "neg").exit_code == 0
    assert "target" in cli("a good film", "a film", "-o", "out.jsonl", "--append").stderr
    for target in ("neg", "0"):
        assert cli("a good film", "a film", "-o", "out.jsonl", "--append", "--target", target).exit_code == 0


@pytest.mark.parametrize(
    "content", ["my notes", "my notes\n", '{"text": "mine"}', '{"text": "mine"}\n', "\nmine\n", '"mine']
)
@pytest.mark.parametrize("before", ["", "results"])
def test_append_never_cuts_what_it_did_not_write(cli, source, whole, tmp_path, content, before):
    path = tmp_path / "notes"
    path.write_bytes((whole.read_bytes() if before else b"") + content.encode())
    kept = path.read_bytes()
    found = cli("-i", str(source), "-o", "notes", "--append")
    assert (found.exit_code, path.read_bytes()) == (1, kept)
    assert "notes" in found.stderr


@pytest.mark.parametrize("n_new", [0, 1])
def test_append_never_mixes_schemas(cli, source, whole, tmp_path, n_new):
    """Not even where results of this schema come first."""
    old = (Path(__file__).parents[2] / "golden" / "attributions-1.jsonl").read_bytes().splitlines(keepends=True)[0]
    path = tmp_path / "old.jsonl"
    path.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:n_new]) + old)
    before = path.read_bytes()
    found = cli("-i", str(source), "-o", "old.jsonl", "--append")
    assert (found.exit_code, path.read_bytes()) == (1, before)
    assert f"line {n_new + 1} has the schema 'mase.attribution/1'" in found.stderr
    assert "--overwrite" in found.stderr


@pytest.mark.parametrize("method", list(mase.METHODS))
def test_append_knows_its_own_results_by_every_method(lstm_model, method, tmp_path, monkeypatch):
    model = mase.models.load("lstm-imdb") if method == "deep-shap" else lstm_model
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: model)
    arguments = ["explain", "--method", method, "--n-samples", "30", "-q", "-o", str(tmp_path / "a.jsonl")]
    assert CliRunner().invoke(main, [*arguments, "a good film"]).exit_code == 0
    found = CliRunner().invoke(main, [*arguments, "--append", "a good film", "a dull film"])
    assert (found.exit_code, len(load_many(tmp_path / "a.jsonl"))) == (0, 2), found.stderr
    refused = CliRunner().invoke(main, [*arguments, "--append", "--seed", "9", "a good film"])
    assert refused.exit_code == 1


def test_append_refuses_a_model_of_other_classes(cli, source, whole, monkeypatch):
    before = whole.read_bytes()
    for labels in (["pos", "neg"], ["neg", "good"]):
        model = mase.models.Callable(predict, labels=labels)
        monkeypatch.setattr("mase.models.open.load", lambda *_a, model=model, **_k: model)
        found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
        assert (found.exit_code, whole.read_bytes()) == (1, before)
        assert f"has the classes 'neg, pos', expected '{', '.join(labels)}'" in found.stderr


CODE = "def predict(texts):\n    return [[0.3, 0.7] if 'good' in text else [0.6, 0.4] for text in texts]\n"


def test_append_refuses_changed_code_if_it_was_recorded(tmp_path):
    code, output = tmp_path / "judge.py", tmp_path / "out.jsonl"
    code.write_text(CODE, encoding="utf-8")
    texts, more = ["a good film", "a film"], ["-q", "-m", f"{code}:predict", "-o", str(output), "--n-samples", "8"]
    assert CliRunner().invoke(main, ["explain", *more, texts[0]]).exit_code == 0
    code.write_text(CODE.replace("0.3, 0.7", "0.2, 0.8"), encoding="utf-8")
    found = CliRunner().invoke(main, ["explain", *more, "--append", *texts])
    assert (found.exit_code, "model's code_sha256" in found.stderr) == (1, True)
    plain = json.loads(output.read_text())
    plain["model"].pop("code_sha256")
    output.write_text(json.dumps(plain) + "\n")
    assert CliRunner().invoke(main, ["explain", *more, "--append", *texts]).exit_code == 0


def test_append_warns_that_a_model_without_a_checksum_may_be_another(cli, source, whole):
    whole.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:5]))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        found = cli("-i", str(source), "-o", "whole.jsonl", "--append")
    assert found.exit_code == 0
    assert "mase: warning: the model 'predict' has no checksum: whether it is the one of the results in" in found.stderr


def test_append_refuses_another_tokenizer_of_the_same_model(folder, tmp_path):
    output = tmp_path / "out.jsonl"
    texts, more = ["Good film", "a film"], ["-q", "-m", str(folder), "-o", str(output), "--n-samples", "8"]
    assert CliRunner().invoke(main, ["explain", *more, texts[0]]).exit_code == 0
    assert CliRunner().invoke(main, ["explain", *more, "--append", texts[0]]).exit_code == 0
    before = output.read_bytes()
    edit(folder, "tokenizer_config.json", do_lower_case=False)
    found = CliRunner().invoke(main, ["explain", *more, "--append", *texts])
    assert (found.exit_code, "model's reads.tokenizer_sha256" in found.stderr) == (1, True)
    assert output.read_bytes() == before
    plain = json.loads(before)
    del plain["model"]["reads"]
    output.write_text(json.dumps(plain) + "\n")
    assert CliRunner().invoke(main, ["explain", *more, "--append", *texts]).exit_code == 0
