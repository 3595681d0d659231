"""The bundled models: their files, their tokenizer, and that their cards tell the truth."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from mase.errors import DataError, UnknownNameError
from mase.models import bundled
from mase.models.bundled.files import words
from mase_paper import datasets

SHARED = Path(__file__).parents[3] / "shared" / "data"


LARGEST_FILE = 6_000_000


DATASET_OF = {"lstm-imdb": "imdb", "lstm-reuters": "reuters"}


LEAST_ACCURACY = {"lstm-imdb": 0.830, "lstm-reuters": 0.842}


every_model = pytest.mark.parametrize("name", bundled.BUNDLED)


@every_model
def test_files_are_complete_small_and_nothing_else(name):
    files = list(bundled.folder(name).iterdir())
    assert sorted(file.name for file in files) == sorted([*bundled.FILES, "README.md"])
    assert all(file.stat().st_size <= LARGEST_FILE for file in files)


@every_model
def test_loading_gives_float32_in_evaluation_mode_and_leaves_the_generator_alone(name):
    state = torch.random.get_rng_state()
    model = bundled.load(name)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not any(part.training for part in model.module.modules())
    assert {parameter.dtype for parameter in model.module.parameters()} == {torch.float32}
    assert not any(parameter.requires_grad for parameter in model.module.parameters())
    assert not model.module.embedding.weight[0].any()  # padding is the zero vector
    assert model.name == name
    assert len(model.labels) == datasets.DATASETS[DATASET_OF[name]].n_labels
    np.testing.assert_allclose(model.predict(["A plain text.", "Another"]).sum(1), 1)


def test_models_answer_plain_questions():
    reviews = ["A wonderful, moving film; I loved it.", "Terrible acting and a boring, awful plot. A waste of time."]
    imdb = bundled.load("lstm-imdb")
    assert [imdb.labels[index] for index in imdb.predict(reviews).argmax(1)] == ["pos", "neg"]
    news = [
        "BANK OF DUCKVILLE RAISES DISCOUNT RATE. "
        "The central bank raised its key interest rate to six pct from five pct."
    ]
    reuters = bundled.load("lstm-reuters")
    assert reuters.labels[int(reuters.predict(news).argmax())] == "interest"


@every_model
def test_long_texts_are_cut_at_the_end_that_the_card_tells(name):
    text = " ".join(f"w{index}" for index in range(100))
    tokens = bundled.load(name).encode(text)
    assert tokens.truncation is not None
    assert (tokens.truncation.n_kept, tokens.truncation.n_total) == (80, 100)
    expected = {"lstm-imdb": ("w20", "w99"), "lstm-reuters": ("w0", "w79")}[name]
    assert (tokens.pieces[0], tokens.pieces[-1]) == expected


def test_wrong_folders_say_what_is_wrong(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'lstm-imdb'"):
        bundled.load("lstm-imbd")
    copy = tmp_path / "model"
    shutil.copytree(bundled.folder("lstm-imdb"), copy)
    vocabulary = (copy / "vocabulary.txt").read_text(encoding="utf-8")
    (copy / "vocabulary.txt").write_text(vocabulary + "onemore\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"does not fit .* embedding\.weight \(15002, 128\), expected \(15003, 128\)"):
        bundled.load(copy)
    (copy / "vocabulary.txt").write_text(vocabulary, encoding="utf-8")
    assert bundled.load(copy).sha256 == bundled.load("lstm-imdb").sha256
    (copy / "model.safetensors").write_bytes(b"\x80\x04 a pickle, or anything")
    with pytest.raises(DataError, match="cannot read the weights"):
        bundled.load(copy)
    (copy / "config.json").write_text("[]")
    with pytest.raises(DataError, match="does not describe a model"):
        bundled.load(copy)
    (copy / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"has no model\.safetensors, expected"):
        bundled.load(copy)


@pytest.mark.pages
@every_model
def test_card_and_configuration_tell_the_same(name):
    card = (bundled.folder(name) / "README.md").read_text(encoding="utf-8")
    record = json.loads((bundled.folder(name) / "config.json").read_text(encoding="utf-8"))["training"]
    assert re.search(rf"^{re.escape(record['command'])}$", card, re.MULTILINE)
    assert f"| test, complete | {100 * record['test_accuracy']:.2f} % " in card
    assert f"| validation | {100 * record['validation_accuracy']:.2f} % " in card
    assert record["data_sha256"] in card
    assert all(f"{package} {number}" in card for package, number in record["versions"].items())
    assert record["n_test"] == datasets.DATASETS[DATASET_OF[name]].n_test
    assert record["test_accuracy"] >= LEAST_ACCURACY[name]


@pytest.mark.pages
@every_model
def test_reported_accuracy_is_that_of_the_complete_test_split(name):
    dataset = datasets.DATASETS[DATASET_OF[name]]
    if not (SHARED / dataset.file).is_file():
        pytest.skip(f"no {dataset.file} in ../shared/data")
    test = datasets.load(dataset.name, "test", SHARED)
    record = json.loads((bundled.folder(name) / "config.json").read_text(encoding="utf-8"))["training"]
    model = bundled.load(name)
    readable = [index for index, text in enumerate(test.texts) if any(words(text))]
    predicted = model.predict([test.texts[index] for index in readable]).argmax(1)
    right = sum(model.labels[place] == test.labels[index] for place, index in zip(predicted, readable, strict=True))
    unreadable = len(test) - len(readable)
    assert unreadable <= 1
    # Sums in another order may turn a near tie: one text in ten thousand is allowed, and each that cannot be read.
    assert right == pytest.approx(record["test_accuracy"] * len(test), abs=len(test) / 10_000 + unreadable)
    assert test.sha256 == record["data_sha256"]
