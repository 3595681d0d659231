"""Tests of `mase_paper.training.fresh`, and of what `mase_paper.models.fresh` opens."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mase
from mase.errors import DataError, OptionError
from mase_paper.experiments.testbeds import TARGETS
from mase_paper.models.fresh import read
from mase_paper.training import RECIPES, UNBUNDLED, train

N_TRAIN, N_TEST = 300, 80


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with reviews of which one word tells the level of the rating."""
    rng = np.random.default_rng(5)
    cues, rows = {1: "awful", 3: "weak", 8: "good", 10: "superb"}, []
    for index in range(N_TRAIN + N_TEST):
        rating = int(rng.choice(list(cues)))
        words = [*rng.choice([f"word{n}" for n in range(20)], rng.integers(3, 9)), cues[rating], "end"]
        split = "train" if index < N_TRAIN else "test"
        row = {"split": split, "id": index, "label": "neg" if rating < 5 else "pos", "rating": rating}
        rows.append(row | {"text": " ".join(words)})
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(pa.Table.from_pylist(rows), folder / "imdb.parquet")
    return folder


@pytest.mark.parametrize("name", ["cnn-imdb-rating", "tfidf-imdb-rating"])
@pytest.mark.slow
def test_a_model_is_the_same_after_it_was_written(data, tmp_path, name):
    done = train(name, data, tmp_path / name, epochs=8)
    assert done.test_accuracy > 0.8  # chance is 1/4
    model, test = TARGETS[name].load(tmp_path), TARGETS[name].split("test", str(data))
    predicted = [model.labels[index] for index in model.predict(test.texts).argmax(1)]
    assert np.mean([a == b for a, b in zip(predicted, test.labels, strict=True)]) == done.test_accuracy
    record = json.loads((done.path / "config.json").read_text())["training"]
    assert (record["n_training"], record["n_validation"], record["n_test"]) == (270, 30, N_TEST)
    found = mase.Explainer(model, units="wordpunct", n_samples=100)("word1 superb word2")
    assert found.words[found.order[0]] == "superb"


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """Return the folder of a trained model."""
    return train("cnn-imdb-rating", data, tmp_path_factory.mktemp("models") / "cnn-imdb-rating", seed=3, epochs=1).path


def test_the_command_of_a_model_repeats_its_training(trained):
    record = json.loads((trained / "config.json").read_text())["training"]
    assert record["command"] == "mase train cnn-imdb-rating --data-dir DIR --seed 3 --epochs 1"


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("config.json", lambda content: content[:20]),
        ("config.json", lambda content: b'{"model": "another"}'),
        ("model.safetensors", lambda content: content[:1000]),
        ("model.safetensors", lambda content: content[:-4] + b"0000"),
        ("vocabulary.txt", lambda content: content[: len(content) // 2]),
    ],
)
def test_a_damaged_model_is_told(trained, tmp_path, file, damage):
    folder = tmp_path / "cnn-imdb-rating"
    shutil.copytree(trained, folder)
    (folder / file).write_bytes(damage((folder / file).read_bytes()))
    with pytest.raises(DataError, match="mase train cnn-imdb-rating --overwrite"):
        read(folder)


def test_a_device_that_is_not_there_is_no_damage(trained):
    with pytest.raises(OptionError, match="device is 'nonsense'"):
        read(trained, "nonsense")


def test_another_model_is_not_taken_for_that_of_a_target(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "tfidf-imdb-rating")
    with pytest.raises(DataError, match="holds cnn-imdb-rating"):
        TARGETS["tfidf-imdb-rating"].load(tmp_path)


def test_a_missing_model_is_told(tmp_path):
    with pytest.raises(DataError, match="mase train cnn-imdb-rating"):
        read(tmp_path / "cnn-imdb-rating")


def test_every_model_of_the_confirmation_has_a_recipe_and_a_target():
    assert {target.name for target in TARGETS.values() if target.task} == set(UNBUNDLED)
    assert all(RECIPES[name].name == name for name in UNBUNDLED)
