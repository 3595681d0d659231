"""Tests of `mase.models.origin`."""

import copy
import hashlib
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.hostile import process
from tests.labelled_texts import predict
from tests.unit.models.tiny import family

import mase
from mase.errors import DataError, NotPicklableError, OptionError
from mase.methods import resolve
from mase.metrics.perturbation import Nearby
from mase.models import Callable, HuggingFace, TorchModule, bundled, load
from mase.models.origin import (
    as_recorded,
    dumps,
    has_checksum,
    identity,
    identity_in_run,
    is_multilabel,
    is_same,
    unknown_model,
)
from mase.models.torch.engine import available
from mase.models.torch.weights import Packed
from mase.models.user_code import open_code
from mase.options import Stopping
from mase.testing import LogisticClassifier, SmallLSTM, Wrapped, whitespace_ids

CODE = "def predict(texts):\n    return [[0.3, 0.7] if 'good' in text else [0.6, 0.4] for text in texts]\n"


@pytest.fixture
def code(tmp_path):
    (tmp_path / "judge.py").write_text(CODE, encoding="utf-8")
    return open_code(f"{tmp_path}/judge.py:predict")


def test_code_has_a_checksum_of_its_own_which_does_not_tell_what_it_loads(code):
    found = identity(code)
    assert found == {"name": code.name, "sha256": None, "code_sha256": hashlib.sha256(CODE.encode()).hexdigest()}
    assert not has_checksum(found)
    assert has_checksum(found | {"sha256": "0123"})
    assert not has_checksum(identity(mase.models.Callable(predict)))
    assert "no checksum but that of its source file" in unknown_model(found, "the results", "begin again")


def test_attributions_of_earlier_releases_have_no_checksum_of_the_code(code):
    own = identity(code)
    assert as_recorded(own, {"name": code.name, "sha256": None}) == {"name": code.name, "sha256": None}
    assert as_recorded(own, {**own, "code_sha256": "0123"}) == own
    explainer = mase.Explainer(code, n_samples=8)
    found = explainer("a good film")
    assert found.model == own
    assert explainer.predict_without(found, [1]).label
    found.model.pop("code_sha256")
    assert explainer.predict_without(found, [1]).label


def test_the_checksum_of_code_counts_if_both_have_it(code):
    """A server opens a model from code, and a user imports the same one."""
    own, without = identity(code), {"name": code.name, "sha256": None}
    assert is_same(own, without)
    assert is_same(without, own)
    assert not is_same(own, {**own, "code_sha256": "0123"})
    assert not is_same(own, {**without, "sha256": "0123"})


def test_how_a_model_reads_texts_counts_if_both_say_so(lstm_model):
    own = identity_in_run(lstm_model)
    other = own | {"reads": own["reads"] | {"max_length": 3}}
    assert is_same(own, identity(lstm_model))
    assert not is_same(own, other)
    explainer = mase.Explainer(lstm_model, n_samples=8)
    found = replace(explainer("a good film"), model=own)
    assert explainer.predict_without(found, [1]).label
    with pytest.raises(OptionError, match="with another sha256 than"):
        explainer.predict_without(replace(found, model=own | {"sha256": "0123"}), [1])


TEXT = "a good film"


def with_other_weights(folder):
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor + 0.5 for name, tensor in tensors.items()}, folder / "model.safetensors", {"format": "pt"})


def trained(model):
    with torch.no_grad():
        next(iter(model.module.parameters())).add_(0.5)
    return model


@pytest.mark.parametrize("loading", [load, HuggingFace])
def test_a_folder_is_pickled_by_its_path_and_checksum(loading, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    model = loading(folder.name)
    content = pickle.dumps(model)
    monkeypatch.chdir(Path.home())
    assert pickle.loads(content).predict([TEXT]).tolist() == model.predict([TEXT]).tolist()
    with_other_weights(folder)
    with pytest.raises(DataError, match=model.sha256) as caught:
        pickle.loads(content)
    assert loading(folder).sha256 in str(caught.value)


def test_options_of_a_folder_are_kept(folder):
    model = HuggingFace(folder, enter="words", max_length=4, keep="end", name="mine")
    again = pickle.loads(pickle.dumps(model))
    assert again.name == "mine"
    assert again.encode("a good film a film").truncation == model.encode("a good film a film").truncation
    explained = [mase.Explainer(one, method="mase-nlgp", n_samples=32)(TEXT) for one in (model, again)]
    assert explained[0].scores.tolist() == explained[1].scores.tolist()


def test_a_bundled_model_is_pickled_by_its_name(tmp_path, monkeypatch):
    model = load("lstm-imdb")
    content = pickle.dumps(model)
    assert len(content) < 1000
    shutil.copytree(bundled.folder("lstm-reuters"), tmp_path / "lstm-imdb")
    monkeypatch.chdir(tmp_path)  # a folder of that name does not replace it
    assert pickle.loads(content).labels == model.labels == pickle.loads(pickle.dumps(load("lstm-imdb"))).labels
    assert pickle.loads(pickle.dumps(load("./lstm-imdb"))).labels != model.labels


@pytest.mark.parametrize("name", ["lstm-imdb", "folder"])
def test_a_model_that_was_trained_since_it_was_loaded_is_pickled_by_its_weights(name, folder):
    model = load(name if name != "folder" else folder)
    before = model.sha256
    trained(model)
    again = pickle.loads(pickle.dumps(model))
    assert before != again.sha256 == model.sha256
    # Not equal: sums of other places in memory may be rounded in another order.
    assert again.predict([TEXT]) == pytest.approx(model.predict([TEXT]), abs=1e-7)
    assert copy.deepcopy(model).sha256 == copy.copy(model).sha256 == model.sha256


def test_a_pickled_module_is_a_copy_with_a_checksum_of_its_own():
    model = TorchModule(SmallLSTM(), tokenize=whitespace_ids)
    again = pickle.loads(pickle.dumps(model))
    before = model.sha256
    assert trained(again).sha256 != before == model.sha256


def test_weights_stay_shared():
    module = torch.nn.Linear(3, 3)
    module.tied = module.weight
    module.view = module.weight.data[0]
    again = pickle.loads(pickle.dumps(Packed(module))).value
    again.weight.data[0, 0] = 7
    assert again.tied is again.weight
    assert again.view[0] == 7


def test_to_show_a_model_or_its_explainer_asks_no_model():
    def fails(_):
        asked.append(True)
        raise OSError("no server")

    asked = []
    models = [Callable(fails), Callable(fails, ["no", "yes"]), TorchModule(Wrapped(fails), tokenize=whitespace_ids)]
    shown = [repr(model) for model in models]
    assert all(text in repr(mase.Explainer(model)) for text, model in zip(shown, models, strict=True))
    assert not asked
    assert ["yes" in text for text in shown] == [False, True, False]
    assert "LABEL_1" in repr(HuggingFace(*family("bert")))


def test_a_device_that_is_not_there_is_replaced():
    assert available("cpu") == "cpu"
    assert available("cuda:4095") == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device is there")
def test_a_module_of_a_gpu_is_restored_where_there_is_none(monkeypatch):
    module = SmallLSTM()
    with monkeypatch.context() as patched:
        patched.setattr(torch.serialization, "location_tag", lambda _storage: "cuda:0")
        content = pickle.dumps(TorchModule(module, tokenize=whitespace_ids))
    again = pickle.loads(content)
    assert (again.device, again.sha256) == ("cpu", TorchModule(module, tokenize=whitespace_ids).sha256)


ROOT = Path(__file__).parents[3]


PORTABLE_TEXT = "a good film , though rather slow"


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

    return make_pipeline(CountVectorizer(), LogisticRegression()).fit([PORTABLE_TEXT, "a dull film"], ["pos", "neg"])


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
        "wrapper": Nearby(TorchModule(module, tokenize=whitespace_ids), np.full(len(PORTABLE_TEXT.split()), 0.9)),
    }
    methods = {"wrapper": "mase-nlgp", "function": mase.METHODS["mase-mask"]}
    return {
        name: mase.Explainer(model, method=methods.get(name, "mase"), n_samples=32, stopping=Stopping(tolerance=0.5))
        for name, model in models.items()
    }


def in_a_fork(path):
    """Explain in a process that has imported this library, but none of the models."""
    return process.call(explain, path)


def explain(path):
    return {
        name: pickle.loads(content)(PORTABLE_TEXT).scores.tolist()
        for name, content in pickle.loads(path.read_bytes()).items()
    }


def in_a_new_process(path):
    result = subprocess.run(
        [sys.executable, "-c", EXPLAIN, str(path), PORTABLE_TEXT], capture_output=True, text=True, cwd=ROOT
    )
    assert result.returncode == 0, result.stderr
    return eval(result.stdout)


@pytest.mark.parametrize("explained", [in_a_fork, pytest.param(in_a_new_process, marks=pytest.mark.faults)])
@pytest.mark.slow
def test_every_model_gives_the_same_scores_in_another_process(explainers, tmp_path, explained):
    path = tmp_path / "explainers"
    path.write_bytes(pickle.dumps({name: dumps(one) for name, one in explainers.items()}))
    expected = {name: explainer(PORTABLE_TEXT).scores.tolist() for name, explainer in explainers.items()}
    assert explained(path) == expected
    assert all(any(scores) for scores in expected.values())


@pytest.mark.slow
def test_pickling_keeps_what_a_model_is(explainers):
    for name, explainer in explainers.items():
        copied = pickle.loads(pickle.dumps(explainer))
        model, again = explainer.model, copied.model
        assert (type(again), again.name, again.labels) == (type(model), model.name, model.labels), name
        assert (again.sha256, copied.settings) == (model.sha256, explainer.settings)
        assert copied(PORTABLE_TEXT).scores.tolist() == explainer(PORTABLE_TEXT).scores.tolist()
    attribution = explainers["function"](PORTABLE_TEXT)
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
        dumps(mase.Explainer(load("lstm-imdb"), method=resolve("mase-nlgp", sigma=lambda p: 0.1)))


@pytest.mark.parametrize("separate", [False, True])
def test_whether_classes_are_separate_questions_counts_if_both_say_so(separate):
    own, other = (
        identity_in_run(Callable(predict, labels=["neg", "pos"], multilabel=multilabel))
        for multilabel in (separate, not separate)
    )
    assert is_multilabel(own) is separate
    assert not is_same(own, other)
    earlier = {key: value for key, value in own.items() if key != "output"}
    assert is_multilabel(earlier) is None
    assert is_same(own, earlier)
