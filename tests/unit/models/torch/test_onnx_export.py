"""Tests of `mase.models.torch.onnx_export`."""

import pickle

import numpy as np
import pytest

import mase
from mase.errors import DataError, ModelError, OptionError, UnknownNameError
from mase.models import load

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
pytest.importorskip("transformers")
from mase.models import export_onnx
from mase.models.torch import onnx_export

TEXTS = ["A dull start,<br />but the last hour is wonderful.", "good", "Not a word of it was true; " * 40]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return export_onnx("lstm-imdb", tmp_path_factory.mktemp("onnx") / "lstm")


@pytest.mark.slow
def test_the_exported_model_is_the_model(exported):
    model = load("lstm-imdb")
    assert (exported.name, exported.labels) == (model.name, model.labels)
    for text in TEXTS:
        assert exported.encode(text) == model.encode(text)
    assert exported.predict(TEXTS) == pytest.approx(model.predict(TEXTS), abs=1e-6)
    for method in ("mase-mask", "kernel-shap"):
        scores = [
            mase.Explainer(one, method=method, reference="unk", n_samples=100)(TEXTS[0]).scores
            for one in (model, exported)
        ]
        assert np.abs(scores[0] - scores[1]).max() < 1e-4


def test_the_folder_can_be_opened_again(exported):
    again = pickle.loads(pickle.dumps(exported))
    assert again.sha256 == exported.sha256
    assert again.predict(TEXTS).tolist() == exported.predict(TEXTS).tolist()


@pytest.mark.slow
def test_weights_of_eight_bits_are_smaller_and_nearly_right(exported, tmp_path, caplog):
    model = export_onnx("lstm-imdb", tmp_path / "new" / "int8", quantized=True)
    sizes = [file.stat().st_size for file in tmp_path.rglob("model.onnx")]
    assert sizes[0] < 3_000_000
    assert {file.name for file in (tmp_path / "new").iterdir()} == {"int8"}
    difference = np.abs(model.predict(TEXTS) - exported.predict(TEXTS)).max()
    assert 1e-6 < difference < 0.02  # also on processors whose sums of products of 8 bits overflow
    assert not caplog.records


def test_nothing_is_overwritten_and_nothing_left_behind(tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for name in ("full", "full/mine.txt"):
        with pytest.raises(DataError, match="exists already"):
            export_onnx("lstm-imdb", tmp_path / name)
    with pytest.raises(OptionError, match="got a model of type object"):
        export_onnx(object(), tmp_path / "other")
    with pytest.raises(UnknownNameError):
        export_onnx("bert", tmp_path / "none")
    monkeypatch.setattr(onnx_export, "TOLERANCE", -1.0)
    with pytest.raises(ModelError, match="differ by"):
        export_onnx("lstm-imdb", tmp_path / "wrong")
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
