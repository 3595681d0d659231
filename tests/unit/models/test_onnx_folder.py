"""Tests of `mase.models.onnx`."""

import json

import pytest

import mase
from mase.errors import DataError, OptionError
from mase.models import load
from mase.text import Truncation

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
pytest.importorskip("tokenizers")
import tokenizers
from tests.unit.models import onnx_graphs as graphs

TEXT = "a good film"


@pytest.fixture
def folder(tmp_path):
    """A folder as others write it: a graph, a tokenizer and the configuration of transformers."""
    place = tmp_path / "judge"
    place.mkdir()
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[MASK]": 4, "a": 5, "good": 6, "film": 7}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A", None, [("[CLS]", 2)])
    tokenizer.save(str(place / "tokenizer.json"))
    (place / "model.onnx").write_bytes(graphs.graph(inputs=("input_ids", "attention_mask")))
    write(
        place / "config.json", {"model_type": "bert", "max_position_embeddings": 64, **classes("bad", "so-so", "good")}
    )
    return place


def classes(*names):
    return {"id2label": {str(index): name for index, name in enumerate(names)}}


def write(path, content):
    path.write_text(json.dumps(content))


def test_a_folder_or_its_file_is_a_model(folder):
    by_folder, by_file = load(folder), load(str(folder / "model.onnx"))
    assert (by_folder.name, by_folder.labels) == ("judge", ("bad", "so-so", "good"))
    expected = graphs.softmax(graphs.answer([2, 5, 6, 7]))
    for model in (by_folder, by_file):
        assert model.predict([TEXT])[0] == pytest.approx(expected, abs=1e-6)
    found = mase.Explainer(str(folder), n_samples=64)(TEXT)
    assert found.model["sha256"] == by_folder.sha256
    with pytest.raises(OptionError, match="device"):
        load(folder, device="cuda")


def test_the_longest_input_is_that_of_tokenizer_and_positions(folder):
    assert load(folder).encode("film " * 100).truncation.n_kept == 64
    write(folder / "tokenizer_config.json", {"model_max_length": 32})
    assert load(folder).encode("film " * 100).truncation == Truncation(32, 101, "start")
    write(folder / "tokenizer_config.json", {"model_max_length": 32, "truncation_side": "left"})
    assert load(folder).encode("film " * 100).truncation == Truncation(32, 101, "end")
    write(folder / "tokenizer_config.json", {"model_max_length": 1e30})
    write(folder / "config.json", {"model_type": "roberta", "max_position_embeddings": 64, "pad_token_id": 1})
    assert load(folder).encode("film " * 100).truncation.n_kept == 62
    assert load(folder).labels == ("0", "1", "2")


@pytest.mark.parametrize(("family", "longest"), [("data2vec-text", 62), ("my-roberta", 64)])
def test_positions_are_counted_as_in_transformers(folder, family, longest):
    write(folder / "config.json", {"model_type": family, "max_position_embeddings": 64, "pad_token_id": 1})
    assert load(folder).encode("film " * 100).truncation.n_kept == longest


def test_one_column_is_what_it_is_in_transformers(folder):
    (folder / "model.onnx").write_bytes(graphs.graph(inputs=("input_ids", "attention_mask"), columns=1))
    for config, labels in (
        (classes("toxic"), ("not toxic", "toxic")),
        (classes("LABEL_0") | {"problem_type": "multi_label_classification"}, ("not LABEL_0", "LABEL_0")),
        (classes("LABEL_0") | {"problem_type": "regression"}, ("value",)),
    ):
        write(folder / "config.json", config)
        assert load(folder).labels == labels
    write(folder / "config.json", classes("LABEL_0"))
    with pytest.raises(OptionError, match="may not be a class at all"):
        load(folder)


def test_the_kind_of_problem_says_what_the_columns_are(folder):
    write(folder / "config.json", classes("a", "b", "c") | {"problem_type": "multi_label_classification"})
    assert load(folder).output.multilabel
    write(folder / "config.json", classes("a", "a", "c") | {"problem_type": "regression"})
    found = mase.Explainer(load(folder), n_samples=64)(TEXT)
    assert list(found.prediction.values) == ["0: a", "1: a", "2: c"]


def test_what_a_folder_may_not_hold(folder):
    for content, message in (
        ({"id2label": [1]}, "id2label"),
        ({"id2label": []}, "id2label"),
        ({"id2label": {"1": "a"}}, "id2label"),
        ({"max_position_embeddings": 10**12}, "max_position_embeddings"),
        ([], "JSON object"),
        ({"labels": ["a", "b", "c"]}, "has no keep"),
        ({"name": "x", "labels": ["a", "a"], "max_length": 5, "keep": "start"}, "labels"),
    ):
        write(folder / "config.json", content)
        with pytest.raises(DataError, match=message):
            load(folder)
    write(folder / "config.json", {})
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="tokenizer"):
        load(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DataError, match="has no tokenizer"):
        load(folder)


def test_code_beside_a_file_is_not_run(folder):
    for name in ("model.py", "modeling.py", "tokenization.py", "__init__.py", "config.py"):
        (folder / name).write_text("raise SystemExit('run')")
    auto = {
        "auto_map": {"AutoModelForSequenceClassification": "model.Model", "AutoTokenizer": "tokenization.Tokenizer"}
    }
    write(folder / "config.json", auto)
    write(folder / "tokenizer_config.json", auto | {"tokenizer_class": "Tokenizer"})
    assert load(folder).predict([TEXT]).shape == (1, 3)
