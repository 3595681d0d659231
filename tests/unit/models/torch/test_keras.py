"""Tests of `mase.models.torch.keras`."""

import pickle

import numpy as np
import pytest

import mase
from mase.errors import CapabilityError
from mase.models import TorchModule
from mase.testing import check_model, whitespace_ids

pytest.importorskip("keras")
import keras

if keras.backend.backend() != "torch":
    pytest.skip("the backend of Keras is another one", allow_module_level=True)

from mase.models import KerasModel, KerasModule

# Keras converts tensors of torch to arrays in a way that NumPy 2 no longer wants.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
TEXT = "this is a rather good film , though slow"
MASK = 11  # the id of chr(491)


@pytest.fixture(params=["softmax", None])
def network(request):
    keras.utils.set_random_seed(1)
    inner = keras.Sequential(
        [
            keras.Input((None, 8)),
            keras.layers.LSTM(6, name="reader"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(
                3, activation=request.param, kernel_initializer=keras.initializers.RandomNormal(stddev=3)
            ),
        ]
    )
    normal = keras.initializers.RandomNormal(stddev=1)
    words = keras.layers.Embedding(500, 8, embeddings_initializer=normal, name="words")
    return keras.Sequential([keras.Input((None,), dtype="int32"), words, inner])


def as_torch(network):
    return TorchModule(KerasModule(network), tokenize=whitespace_ids, embedding="words", mask_id=MASK)


@pytest.mark.slow
def test_the_embedding_layer_of_a_keras_model_is_perturbed(network):
    model = as_torch(network)
    assert model.predict([TEXT]) == pytest.approx(KerasModel(network, whitespace_ids).predict([TEXT]), abs=1e-6)
    check_model(model, TEXT)
    found = mase.Explainer(model, method="mase-nlgp", n_samples=100)(TEXT)
    assert np.abs(found.scores).max() > 1e-3


def test_masked_words_are_those_of_the_black_box(network):
    assert whitespace_ids(chr(491)) == [MASK]
    box = KerasModel(network, whitespace_ids, mask_token=chr(491))
    scores = [
        mase.Explainer(model, method="mase-mask", reference="mask", n_samples=200)(TEXT).scores
        for model in (as_torch(network), box)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


@pytest.mark.slow
def test_another_process_perturbs_the_layer_too(network):
    model = as_torch(network)
    again = pickle.loads(pickle.dumps(model))
    assert again.sha256 == model.sha256
    assert mase.Explainer(again, n_samples=64)(TEXT).scores == pytest.approx(
        mase.Explainer(model, n_samples=64)(TEXT).scores
    )


def test_other_backends_have_no_module(network, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(CapabilityError, match="backend of Keras is jax"):
        KerasModule(network)
