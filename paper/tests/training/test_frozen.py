"""Tests of `mase_paper.training.frozen`, and of a whole training with frozen layers."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from paper.tests.training.bases import FILLER, write_base
from torch import nn

import mase
from mase.errors import DataError, OptionError
from mase.models.bundled.bert import classifier
from mase_paper import datasets
from mase_paper.training import RECIPES, bert_run, frozen
from mase_paper.training.bert import Checkpoint, set_dropout
from mase_paper.training.classify import logits
from mase_paper.training.examples import Examples
from mase_paper.training.frozen import freeze, lower_states, read_states, upper_logits
from mase_paper.training.lora import attach, trainable

LENGTHS = (7, 3, 9, 5, 5, 1)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Return the folder of a random MPNet of three layers and its tokenizer."""
    return write_base(tmp_path_factory.mktemp("base"), "mpnet")


@pytest.fixture
def module(base):
    """Return an MPNet classifier in evaluation mode whose biases of positions are not small."""
    torch.manual_seed(0)
    module = classifier(base, ["neg", "pos"]).eval()
    nn.init.normal_(module.mpnet.encoder.relative_attention_bias.weight)
    return module.requires_grad_(requires_grad=False)


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    ids = tuple(tuple(rng.integers(5, 20, n).tolist()) for n in LENGTHS)
    return Examples(ids, np.array([0, 1, 0, 1, 1, 0]))


def padded(examples):
    """Return the ids of all texts `(b, t)` and which of them are real."""
    ids, _ = examples.batch(np.arange(len(examples)))
    return ids, torch.arange(ids.shape[1]) < torch.tensor(LENGTHS)[:, None]


@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_lower_and_the_upper_layers_together_are_the_model(module, examples, n_layers):
    ids, mask = padded(examples)
    expected = module(input_ids=ids, attention_mask=mask.long()).logits
    alone = torch.cat([module(input_ids=torch.tensor([one])).logits for one in examples.ids])
    states = lower_states(module, n_layers, ids, mask)
    freeze(module, n_layers)
    torch.testing.assert_close(upper_logits(module, states, mask), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(logits(module, states, mask), alone, atol=1e-6, rtol=1e-5)
    assert expected.std() > 100 * 1e-6


def test_states_are_the_outputs_of_the_layer_in_half_precision(module, examples, tmp_path):
    states = read_states(module, 2, examples, tmp_path / "states" / "part.f16", "sha")
    assert (tmp_path / "states" / "part.f16").stat().st_size == sum(LENGTHS) * 16 * 2
    rows = np.array([2, 1])
    batch, labels = states.batch(rows)
    assert labels.tolist() == [0, 1]
    assert batch.dtype == torch.float32
    for place, row in enumerate(rows):
        ids = torch.tensor([examples.ids[row]])
        expected = module(input_ids=ids, output_hidden_states=True).hidden_states[2][0]
        torch.testing.assert_close(batch[place, : LENGTHS[row]], expected, atol=2e-3, rtol=2e-3)
        assert not batch[place, LENGTHS[row] :].any()


def test_only_what_lies_above_the_frozen_layers_is_trained(module):
    freeze(module, 2)
    attach(module, module.base_model_prefix, 3, 2.0)
    names = list(trainable(module))
    assert all(name.startswith(("mpnet.encoder.layer.2.", "classifier.")) for name in names)
    assert sum(name.endswith(".up") for name in names) == 6
    assert {"classifier.dense.weight", "mpnet.encoder.layer.2.output.LayerNorm.bias"} <= set(names)


def test_attention_is_not_dropped(module):
    set_dropout(module, 0.1)
    rates = {name: layer.p for name, layer in module.named_modules() if isinstance(layer, nn.Dropout)}
    assert {rate for name, rate in rates.items() if name.endswith(".attn.dropout")} == {0.0}
    assert {rate for name, rate in rates.items() if not name.endswith(".attn.dropout")} == {0.1}


def test_a_stopped_reading_goes_on_where_it_was(module, examples, tmp_path, monkeypatch):
    monkeypatch.setattr(frozen, "_ROWS", 2)
    monkeypatch.setattr(frozen, "_PROGRESS_BATCHES", 1)
    whole = read_states(module, 1, examples, tmp_path / "whole.f16", "sha")
    read = []

    def stopping(*given):
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(given[2].shape)
        return lower_states(*given)

    path = tmp_path / "parts.f16"
    with monkeypatch.context() as patch:
        patch.setattr(frozen, "lower_states", stopping)
        with pytest.raises(KeyboardInterrupt):
            read_states(module, 1, examples, path, "sha")
    assert read == [(2, 3), (2, 5)]  # short texts first
    took = json.loads(path.with_suffix(".json").read_text())["seconds"]
    with monkeypatch.context() as patch:
        patch.setattr(frozen, "lower_states", lambda *given: read.append(given[2].shape) or lower_states(*given))
        parts = read_states(module, 1, examples, path, "sha")
        assert read[2:] == [(2, 9)]
        again = read_states(module, 1, examples, path, "sha")
    assert len(read) == 3
    assert np.array_equal(parts.states, whole.states)
    assert np.array_equal(again.states, whole.states)
    assert again.seconds == parts.seconds > took


def test_states_of_another_training_are_an_error(module, examples, tmp_path):
    path = tmp_path / "states" / "part.f16"
    read_states(module, 1, examples, path, "sha")
    others = Examples(((9, 9), *examples.ids[1:]), examples.labels)
    for layers, texts, sha256 in ((2, examples, "sha"), (1, others, "sha"), (1, examples, "other")):
        with pytest.raises(DataError, match=r"states belongs to another training; remove the folder"):
            read_states(module, layers, texts, path, sha256)


def test_other_models_and_numbers_of_layers_are_refused(module, examples, tmp_path):
    bert = classifier(write_base(tmp_path / "bert", "bert"), ["neg", "pos"])
    with pytest.raises(OptionError, match="of type 'bert', expected 'mpnet'"):
        read_states(bert, 1, examples, tmp_path / "part.f16", "sha")
    for n_layers in (0, 3):
        with pytest.raises(OptionError, match=rf"freezes {n_layers} layers, expected 1 to 2 of the 3"):
            read_states(module, n_layers, examples, tmp_path / "part.f16", "sha")
    assert not (tmp_path / "part.f16").exists()


SMALL = dataclasses.replace(
    RECIPES["mpnet-imdb"],
    max_length=10,
    rank=4,
    alpha=8.0,
    learning_rate=0.02,
    head_learning_rate=0.02,
    frozen_layers=1,
    training_texts=200,
    test_texts=70,
    checkpoint_steps=5,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with 240 + 80 reviews whose last word but one tells the label, nine times in ten."""
    rng, rows = np.random.default_rng(5), []
    for index in range(320):
        label = int(rng.integers(2))
        cue = ["awful", "lovely"][label if rng.random() < 0.9 else 1 - label]
        words = [*rng.choice(FILLER, rng.integers(3, 12)), cue, rng.choice(FILLER)]
        split = "train" if index < 240 else "test"
        rows.append({"split": split, "id": index, "label": ["neg", "pos"][label], "rating": 1, "text": " ".join(words)})
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(pa.Table.from_pylist(rows), folder / "imdb.parquet")
    return folder


def run(data, output, base, epochs=2):
    return bert_run.run(SMALL, data, output, 0, epochs, lambda _: None, base)


def test_training_learns_and_the_stored_model_is_a_plain_classifier(data, base, tmp_path):
    done = run(data, tmp_path / "model", base, epochs=6)
    assert sorted(path.name for path in done.path.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert done.test_accuracy > 0.75  # 0.9 is the best there is, 0.5 is chance
    model = mase.models.load(done.path)
    assert type(model.module).__name__ == "MPNetForSequenceClassification"
    assert not any(isinstance(layer, nn.Identity) for layer in model.module.mpnet.encoder.layer)
    test = datasets.load("imdb", "test", data)
    rows = np.random.default_rng(0).permutation(80)[:70]
    predicted = model.predict([test.texts[row] for row in rows]).argmax(1)
    right = np.mean([model.labels[got] == test.labels[row] for got, row in zip(predicted, rows, strict=True)])
    assert right == done.test_accuracy
    training = json.loads((done.path / "config.json").read_text())["training"]
    assert training["n_test"] == 70
    card = (done.path / "README.md").read_text()
    assert "test, drawn at random from 80 (95 % Wilson interval " in card
    assert "2 epochs on 200 texts" in card.replace("6 epochs", "2 epochs")
    assert "The first 1 layers are frozen" in card


@pytest.mark.parametrize("stop", [1, 3])
def test_an_interrupted_training_goes_on_to_the_same_weights(data, base, tmp_path, monkeypatch, stop):
    whole = run(data, tmp_path / "whole", base)
    write, count = Checkpoint.write, []

    def write_and_stop(self, state):
        write(self, state)
        count.append(state["step"])
        if len(count) == stop:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", write_and_stop)
        with pytest.raises(KeyboardInterrupt):
            run(data, tmp_path / "parts", base)
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["checkpoint.pt", "states"]
    with monkeypatch.context() as patch:  # the texts are not read again
        patch.setattr(frozen, "lower_states", None)
        parts = run(data, tmp_path / "parts", base)
    assert (parts.path / "model.safetensors").read_bytes() == (whole.path / "model.safetensors").read_bytes()
    assert parts.test_accuracy == whole.test_accuracy
