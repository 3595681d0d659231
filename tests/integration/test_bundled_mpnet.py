"""The bundled MPNets, of the size of BERT-base: their files, loading as plain classifiers, and their cards.

All but the tests of the files need the pretrained model, which `make mpnet` puts into the user's cache.
"""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mase
from mase.models import bundled
from mase.models.bundled import mpnet
from mase_paper import datasets

SHARED = Path(__file__).parents[3] / "shared" / "data"
LARGEST_FILE = 6_000_000
LEAST_ACCURACY = {"mpnet-imdb": 0.893, "mpnet-reuters": 0.90}
DATASET_OF = {"mpnet-imdb": "imdb", "mpnet-reuters": "reuters"}
N_SLICE = 200
every_model = pytest.mark.parametrize("name", DATASET_OF)


@cache
def loaded(name):
    """Return a bundled model, for tests that only ask it."""
    if mpnet.folder() is None:
        pytest.skip(f"{mpnet.BASE} is not on this machine; `make mpnet` installs it")
    return mase.models.load(name)


def record_of(name):
    return json.loads((bundled.folder(name) / "config.json").read_text(encoding="utf-8"))["training"]


@every_model
def test_files_are_complete_and_small(name):
    files = {file.name: file.stat().st_size for file in bundled.folder(name).iterdir()}
    assert set(files) == {*bundled.ADAPTED_FILES, "README.md"}
    assert files["model.safetensors"] <= LARGEST_FILE


@every_model
def test_loading_gives_a_plain_classifier_of_the_size_of_bert_base(name):
    model = loaded(name)
    assert type(model.module).__name__ == "MPNetForSequenceClassification"
    assert {type(part).__name__ for part in model.module.modules() if hasattr(part, "weight")} <= {
        "Embedding",
        "LayerNorm",
        "Linear",
    }
    config = model.module.config
    assert (config.num_hidden_layers, config.hidden_size) == (12, 768)
    assert not any(part.training for part in model.module.modules())
    assert model.name == name
    assert len(model.labels) == datasets.DATASETS[DATASET_OF[name]].n_labels


@every_model
def test_long_texts_are_cut_at_the_end_that_the_card_tells(name):
    tokens = loaded(name).encode(" ".join(f"{index}" for index in range(200)))
    assert (tokens.truncation.n_kept, tokens.truncation.n_total) == (128, 202)
    first = {"mpnet-imdb": 74, "mpnet-reuters": 0}[name]
    assert (tokens.pieces[0], tokens.pieces[1], tokens.pieces[-2]) == ("<s>", str(first), str(first + 125))


def test_models_answer_plain_questions():
    news = "BANK OF DUCKVILLE RAISES DISCOUNT RATE. The central bank raised its key interest rate to six pct from five."
    imdb, reuters = loaded("mpnet-imdb"), loaded("mpnet-reuters")
    assert imdb.predict(["What a wonderful film.", "A dull and awful film."]).argmax(1).tolist() == [1, 0]
    assert reuters.labels[int(reuters.predict([news]).argmax())] == "interest"


@pytest.mark.pages
@every_model
def test_card_and_configuration_tell_the_same(name):
    card, record = (bundled.folder(name) / "README.md").read_text(encoding="utf-8"), record_of(name)
    assert re.search(rf"^{re.escape(record['command'])}$", card, re.MULTILINE)
    assert re.search(rf"^\| test, .*\| {100 * record['test_accuracy']:.2f} % ", card, re.MULTILINE)
    assert f"| validation | {100 * record['validation_accuracy']:.2f} % " in card
    assert record["data_sha256"] in card
    assert all(f"{package} {number}" in card for package, number in record["versions"].items())
    assert record["n_test"] >= 2000
    assert record["test_accuracy"] >= LEAST_ACCURACY[name]


@pytest.mark.pages
@every_model
def test_accuracy_on_a_slice_of_the_test_split_agrees_with_the_card(name):
    dataset = datasets.DATASETS[DATASET_OF[name]]
    if not (SHARED / dataset.file).is_file():
        pytest.skip(f"no {dataset.file} in ../shared/data")
    model, record = loaded(name), record_of(name)
    test = datasets.load(dataset.name, "test", SHARED)
    rows = range(0, len(test), len(test) // N_SLICE)
    predicted = model.predict([test.texts[row] for row in rows]).argmax(1)
    share = np.mean([model.labels[place] == test.labels[row] for place, row in zip(predicted, rows, strict=True)])
    expected = record["test_accuracy"]
    assert abs(share - expected) < 3 * np.sqrt(expected * (1 - expected) / len(rows))
    assert test.sha256 == record["data_sha256"]
