"""Tests of `mase_paper.training.run`."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from mase.errors import DataError, NonFiniteError, OptionError, UnknownNameError
from mase.models import bundled
from mase_paper import datasets
from mase_paper.datasets import split_off
from mase_paper.training import RECIPES, train
from mase_paper.training import run as running

N_TRAIN, N_TEST = 300, 100


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with reviews whose last word but two tells the label, nine times in ten."""
    rng = np.random.default_rng(5)
    filler = [f"word{index}" for index in range(30)]
    rows = []
    for index in range(N_TRAIN + N_TEST):
        label = int(rng.integers(2))
        cue = ["awful", "lovely"][label if rng.random() < 0.9 else 1 - label]
        words = [*rng.choice(filler, rng.integers(3, 12)), cue, *rng.choice(filler, 2)]
        split = "train" if index < N_TRAIN else "test"
        row = {"split": split, "id": index, "label": ["neg", "pos"][label], "rating": 1, "text": " ".join(words)}
        rows.append(row)
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(pa.Table.from_pylist(rows), folder / "imdb.parquet")
    return folder


@pytest.mark.slow
def test_training_learns_writes_and_reports_what_is_stored(data, tmp_path):
    epochs = []
    done = train("lstm-imdb", data, tmp_path / "out", epochs=20, progress=epochs.append)
    assert done.path == tmp_path / "out"
    assert sorted(path.name for path in done.path.iterdir()) == [
        "README.md",
        *sorted(["config.json", "model.safetensors"]),
        "vocabulary.txt",
    ]
    assert [epoch.number for epoch in epochs] == list(range(1, 21))
    assert (done.epochs, epochs[0].n_epochs) == (20, 20)
    assert epochs[-1].loss < epochs[0].loss
    assert done.test_accuracy > 0.8  # 0.9 is the best there is, 0.5 is chance

    model = bundled.load(done.path)
    test = datasets.load("imdb", "test", data)
    predicted = [model.labels[index] for index in model.predict(test.texts).argmax(1)]
    assert np.mean([a == b for a, b in zip(predicted, test.labels, strict=True)]) == done.test_accuracy

    record = json.loads((done.path / "config.json").read_text())["training"]
    accuracies = [epoch.validation_accuracy for epoch in epochs]
    assert record["best_epoch"] == 1 + int(np.argmax(accuracies))
    assert (record["n_validation"], record["n_test"]) == (N_TRAIN // 10, N_TEST)
    assert record["test_accuracy"] == done.test_accuracy
    assert record["validation_accuracy"] == done.validation_accuracy
    assert record["data_sha256"] == test.sha256
    card = (done.path / "README.md").read_text()
    assert "mase train lstm-imdb --data-dir DIR --epochs 20\n" in card
    assert f"{100 * done.test_accuracy:.2f} %" in card
    assert test.sha256 in card


@pytest.mark.slow
def test_one_seed_gives_one_result_whatever_the_state_of_torch(data, tmp_path):
    def weights(name, seed):
        return (train("lstm-imdb", data, tmp_path / name, seed=seed, epochs=2).path / "model.safetensors").read_bytes()

    torch.manual_seed(1)
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    first = weights("a", 3)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    torch.manual_seed(2)
    assert weights("b", 3) == first
    assert weights("c", 4) != first


@pytest.mark.slow
def test_the_test_split_is_read_once_after_the_last_epoch(data, tmp_path, monkeypatch):
    events = []
    real = running.load
    monkeypatch.setattr(running, "load", lambda name, split, folder: events.append(split) or real(name, split, folder))
    train("lstm-imdb", data, tmp_path, epochs=2, progress=lambda epoch: events.append(epoch.number))
    assert events == ["train", 1, 2, "test"]


def test_interrupted_training_writes_nothing(data, tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("lstm-imdb", data, tmp_path, epochs=1, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_held_out_texts_are_fixed_and_the_vocabulary_has_not_seen_them(data, tmp_path):
    held_in, held_out = split_off(50, 0.1)
    assert sorted([*held_in, *held_out]) == list(range(50))
    assert len(held_out) == 5
    assert np.array_equal(split_off(50, 0.1)[1], held_out)
    table = pq.read_table(data / "imdb.parquet").to_pylist()
    rare = [row | {"text": f"{row['text']} rare{number} rare{number}"} for number, row in enumerate(table)]
    pq.write_table(pa.Table.from_pylist(rare), tmp_path / "imdb.parquet")
    trained = train("lstm-imdb", tmp_path, tmp_path / "out", epochs=1)
    words = (trained.path / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    known = {int(word[4:]) for word in words if word.startswith("rare")}
    assert known == set(split_off(N_TRAIN, 0.1)[0].tolist())


def test_errors_come_before_the_work(data, tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'lstm-imdb'"):
        train("lstm-imbd", data, tmp_path)
    with pytest.raises(OptionError, match="seed is -1"):
        train("lstm-imdb", data, tmp_path, seed=-1)
    with pytest.raises(OptionError, match="epochs is 0"):
        train("lstm-imdb", data, tmp_path, epochs=0)
    with pytest.raises(DataError, match=r"reuters46\.parquet"):
        train("lstm-reuters", data, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot make the folder"):
        train("lstm-imdb", data, tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_loss_that_diverges_is_an_error(data, tmp_path):
    wild = dataclasses.replace(RECIPES["lstm-imdb"], learning_rate=1e37)
    with pytest.raises(NonFiniteError, match="lower the learning rate"):
        running.run(wild, data, tmp_path, 0, 3, None)
