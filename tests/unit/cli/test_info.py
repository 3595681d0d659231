"""Tests of `mase.cli.info`."""

import json
import re

import pytest
from click.testing import CliRunner
from tests.model_folders import edit
from tests.servers import served

import mase
from mase.cli import main


@pytest.mark.slow
def test_doctor():
    found = CliRunner().invoke(main, ["check", "-m", "lstm-imdb"])
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.splitlines()[0] == "lstm-imdb"
    assert "after 80 tokens" in found.stdout
    assert "guessed" not in found.stdout


def test_doctor_of_code_says_what_to_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("def predict(texts):\n    return [[0.5, 0.5] for _ in texts]\n")
    shown = CliRunner().invoke(main, ["check", "-m", "own.py:predict", "--text", "just this"])
    assert (shown.exit_code, "labels=[...]" in shown.stdout) == (0, True)
    found = CliRunner().invoke(main, ["check", "-m", "own.py:predict", "--text", "just this", "--json"])
    plain = json.loads(found.stdout)
    assert (plain["name"], [speed["n_units"] for speed in plain["speeds"]]) == ("own.py:predict", [2])
    assert plain["guesses"][0]["remedy"]


def test_doctor_of_a_broken_model_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("def predict(texts):\n    raise OSError('no weights')\n")
    found = CliRunner().invoke(main, ["check", "-m", "broken.py:predict"])
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    assert "no weights" in found.stderr


@pytest.mark.parametrize("given", [b"caf\xe9\n", b"caf\xe9\na good film\n"])
def test_a_file_without_a_text_that_can_be_read_is_an_error(tmp_path, given):
    (tmp_path / "a.txt").write_bytes(given)
    found = CliRunner().invoke(main, ["check", "-m", "lstm-imdb", "-i", str(tmp_path / "a.txt")])
    is_read = b"film" in given
    assert (found.exit_code, bool(found.stdout), "not UTF-8" in found.stderr) == (
        0 if is_read else 1,
        is_read,
        not is_read,
    )


def test_methods():
    listed = CliRunner().invoke(main, ["methods"]).stdout
    for name, method in mase.METHODS.items():
        assert re.search(rf"^{name} +{re.escape(method.summary)}$", listed, re.MULTILINE)
    described = CliRunner().invoke(main, ["methods", "mase-paper"]).stdout
    assert re.search(
        r"space +token-scale \(reference zero, step relative\)\n +design +iid\n +estimator +moment", described
    )
    unknown = CliRunner().invoke(main, ["methods", "mase-papre"])
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert "did you mean 'mase-paper'" in unknown.stderr


def test_models():
    listed = CliRunner().invoke(main, ["models"]).stdout
    assert re.search(r"^lstm-imdb +neg or pos, reads the last 80 words, 8\d\.\d% correct", listed, re.MULTILINE)
    assert re.search(r"^lstm-reuters +46 classes, reads the first 80 words", listed, re.MULTILINE)
    described = CliRunner().invoke(main, ["models", "lstm-reuters"]).stdout
    assert "money-fx" in described
    assert "mase train lstm-reuters" in described
    assert CliRunner().invoke(main, ["models", "lstm-imbd"]).exit_code == 1


def test_models_that_are_damaged(tmp_path, monkeypatch):
    for name in ("model.safetensors", "vocabulary.txt"):
        (tmp_path / name).write_text("")
    wrong = ({"training": None}, {"labels": [1, 2]}, {"labels": "pos"}, {"training": {"test_accuracy": "high"}})
    for content in ("{", "[]", *(json.dumps(one) for one in wrong)):
        (tmp_path / "config.json").write_text(content)
        found = CliRunner().invoke(main, ["models", str(tmp_path)])
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    monkeypatch.setattr("mase.models.bundled.BUNDLED", ("gone",))
    listed = CliRunner().invoke(main, ["models"]).stdout.splitlines()
    assert [line for line in listed if line.split()[:3] == ["gone", "not", "usable:"]]


def test_models_describes_a_hugging_face_folder_by_its_configuration(tmp_path):
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}
    by_index = {
        str(index): f"class {index}" for index in (0, 1, 10, 2)
    }  # in the order of the file, which is of strings
    for given, labels in [({"id2label": by_index}, "class 0, class 1, class 2, class 10"), ({}, "LABEL_0, LABEL_1")]:
        (tmp_path / "config.json").write_text(json.dumps(config | given))
        found = CliRunner().invoke(main, ["models", str(tmp_path)])
        assert found.exit_code == 0
        assert found.stdout.splitlines() == [
            str(tmp_path), "  Hugging Face BertForSequenceClassification", f"  path     {tmp_path}",
            f"  labels   {labels}",
        ]  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}))
    shown = CliRunner().invoke(main, ["models", str(tmp_path)]).stdout
    assert ("mase cite" in shown, "LABEL" in shown) == (True, False)
    (tmp_path / "config.json").write_text(json.dumps(config | {"id2label": ["a"]}))
    found = CliRunner().invoke(main, ["models", str(tmp_path)])
    assert (found.exit_code, "has the id2label ['a'], expected an object" in found.stderr) == (1, True)


def test_models_describes_hostile_folders_or_says_what_is_wrong(folder):
    for changes in ({"id2label": {"9" * 5_000: "x"}}, {"id2label": 5}, {"num_hidden_layers": 10**7}, {"labels": 5}):
        edit(folder, **changes)
        found = CliRunner().invoke(main, ["models", str(folder)])
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
        edit(folder, id2label=..., num_hidden_layers=1, labels=...)
    for changes in (
        {"architectures": 5},
        {"architectures": [{}]},
        {"id2label": {"0": ["\x1b[31m"]}},
        {"model_type": [1]},
    ):
        edit(folder, **changes)
        found = CliRunner().invoke(main, ["models", str(folder)])
        assert (found.exit_code, "\x1b" in found.stdout, found.stderr) == (0, False, "")
    for name in ("a" * 5_000, "x\0y"):
        assert CliRunner().invoke(main, ["models", name]).stderr.count("mase: error:") == 1


def test_models_describes_a_language_model_on_a_server(tmp_path):
    pytest.importorskip("transformers")
    from tests.completion_server import engine, vllm

    with served(vllm(engine())) as (url, _):
        (tmp_path / "server.json").write_text(json.dumps({"protocol": "completions", "url": url}))
        found = CliRunner().invoke(main, ["models", str(tmp_path / "server.json")])
    assert found.exit_code == 0
    assert found.stdout.splitlines()[0] == "tiny"
    assert "CompletionServer" in found.stdout
    assert "mase cite" in found.stdout
    assert "labels" not in found.stdout


def test_models_names_the_command_that_describes_an_exported_folder(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "config.json").write_text(json.dumps({"name": "a", "labels": ["b", "c"]}))
    found = CliRunner().invoke(main, ["models", str(tmp_path)])
    assert (found.exit_code, found.stdout) == (1, "")
    assert "mase check -m" in found.stderr
