"""Tests of `mase.models.portable`, and of pickling every kind of model."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.hostile import process

import mase
from mase.errors import NotPicklableError
from mase.metrics.perturbed_model import Nearby
from mase.models import Callable, HuggingFace, TorchModule, load
from mase.models.code_reference import open_code
from mase.models.portable import dumps
from mase.testing import LogisticClassifier, SmallLSTM, Wrapped, whitespace_ids

ROOT = Path(__file__).parents[3]
TEXT = "a good film , though rather slow"
WORDS = LogisticClassifier({"good": 2.0, "slow": -1.0})
EXPLAIN = """
import pickle, sys, torch
torch.set_num_threads(1)
explainers = pickle.load(open(sys.argv[1], "rb"))
print({name: pickle.loads(content)(sys.argv[2]).scores.tolist() for name, content in explainers.items()})
"""


def scikit_learn_model():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), LogisticRegression()).fit([TEXT, "a dull film"], ["pos", "neg"])


@pytest.fixture(scope="module")
def explainers(good, small_bert, tmp_path_factory):
    """An explainer of every kind of model."""
    file = tmp_path_factory.mktemp("code") / "classifier.py"
    file.write_text("def predict(texts):\n    return [[0.5, 0.5 + 'good' in text] for text in texts]\n".replace(
        "0.5, 0.5 + 'good' in text", "1 - ('good' in text) / 4, ('good' in text) / 4"))  # fmt: skip
    torch.manual_seed(3)
    module = SmallLSTM()
    models = {
        "function": WORDS,
        "scikit-learn": scikit_learn_model(),
        "code": open_code(f"{file}:predict"),
        "module": TorchModule(module, tokenize=whitespace_ids, pad_id=0, mask_id=2),
        "hugging face": HuggingFace(*small_bert),
        "folder": load(good),
        "bundled": load("lstm-imdb"),
        "wrapper": Nearby(TorchModule(module, tokenize=whitespace_ids), np.full(len(TEXT.split()), 0.9)),
    }
    methods = {"wrapper": "mase-nlgp", "function": mase.METHODS["mase-mask"]}
    return {
        name: mase.Explainer(model, method=methods.get(name, "mase"), n_samples=32, tolerance=0.5)
        for name, model in models.items()
    }


def in_a_fork(path):
    """Explain in a process that has imported this library, but none of the models."""
    return process.call(explain, path)


def explain(path):
    return {
        name: pickle.loads(content)(TEXT).scores.tolist() for name, content in pickle.loads(path.read_bytes()).items()
    }


def in_a_new_process(path):
    result = subprocess.run([sys.executable, "-c", EXPLAIN, str(path), TEXT], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    return eval(result.stdout)


@pytest.mark.parametrize("explained", [in_a_fork, pytest.param(in_a_new_process, marks=pytest.mark.faults)])
def test_every_model_gives_the_same_scores_in_another_process(explainers, tmp_path, explained):
    path = tmp_path / "explainers"
    path.write_bytes(pickle.dumps({name: dumps(one) for name, one in explainers.items()}))
    expected = {name: explainer(TEXT).scores.tolist() for name, explainer in explainers.items()}
    assert explained(path) == expected
    assert all(any(scores) for scores in expected.values())


def test_pickling_keeps_what_a_model_is(explainers):
    for name, explainer in explainers.items():
        copied = pickle.loads(pickle.dumps(explainer))
        model, again = explainer.model, copied.model
        assert (type(again), again.name, again.labels) == (type(model), model.name, model.labels), name
        assert (again.sha256, copied.settings) == (model.sha256, explainer.settings)
        assert copied(TEXT).scores.tolist() == explainer(TEXT).scores.tolist()
    attribution = explainers["function"](TEXT)
    assert pickle.loads(pickle.dumps(attribution)) == attribution


def _defined_in(module, value):
    value.__module__ = module
    return value


def _hooked():
    module = SmallLSTM()
    module.head.register_forward_hook(lambda *_: None)
    return TorchModule(module, tokenize=whitespace_ids)


class Net(SmallLSTM):
    """A module of a notebook."""


@pytest.mark.parametrize(
    "model",
    [
        Callable(lambda texts: WORDS(texts)),
        Callable(_defined_in("__main__", lambda texts: WORDS(texts))),
        Callable(_defined_in("__mase_model__", lambda texts: WORDS(texts))),
        TorchModule(SmallLSTM(), tokenize=lambda text: whitespace_ids(text)),
        TorchModule(Wrapped(lambda logits: logits), tokenize=whitespace_ids),
        _hooked(),
    ],
    ids=["lambda", "of a notebook", "of a file", "tokenizer", "in a module", "hook"],
)
def test_what_another_process_cannot_have_is_refused(model):
    with pytest.raises(NotPicklableError, match="module:function"):
        dumps(mase.Explainer(model))


def test_a_class_of_a_notebook_is_refused_at_any_depth(monkeypatch):
    model = TorchModule(Net(), tokenize=whitespace_ids)
    assert pickle.loads(dumps(model)).sha256 == model.sha256
    monkeypatch.setattr(Net, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Net", Net, raising=False)
    assert pickle.loads(pickle.dumps(model)).sha256 == model.sha256  # as it should in the same process
    with pytest.raises(NotPicklableError, match=r"Net .*__main__"):
        dumps(model)


def test_a_setting_that_cannot_be_pickled_is_refused():
    with pytest.raises(NotPicklableError, match="lambda"):
        dumps(mase.Explainer(load("lstm-imdb"), method="mase-nlgp", sigma=lambda p: 0.1))
