"""Tests of `mase.models.origin`."""

import copy
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.unit.models.tiny import family

import mase
from mase.errors import DataError
from mase.models import Callable, HuggingFace, TorchModule, bundled, load
from mase.models.devices import available
from mase.models.packed import Packed
from mase.testing import SmallLSTM, Wrapped, whitespace_ids

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
