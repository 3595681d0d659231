"""Tests of `mase.models.keras` on the backend KERAS_BACKEND; `make keras` runs them on TensorFlow and JAX."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from tests.hostile.texts import READABLE, SILENT

import mase
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, ModelError, OptionError, ShapeError
from mase.models import adapt
from mase.models.origin import dumps
from mase.testing import check_model

pytest.importorskip("keras")
import keras

from mase.models import KerasModel

# Keras converts tensors of torch to arrays in a way that NumPy 2 no longer wants.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
BACKEND = keras.backend.backend()
TEXT = "the cast is superb but the plot is dull"
WORDS = sorted(set(TEXT.split()))


def ids(text):
    return [2 + WORDS.index(word) if word in WORDS else 1 for word in text.split()] or [0]


def network(activation="softmax", columns=3, **options):
    """Return the mean of word vectors with a head; its weights are fixed, and dropout shows that it does not train."""
    keras.utils.set_random_seed(1)
    normal = keras.initializers.RandomNormal(stddev=2.0)
    return keras.Sequential(
        [
            keras.Input((options.get("length"),), dtype="int32"),
            keras.layers.Embedding(20, 4, embeddings_initializer=normal),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(columns, activation=activation, kernel_initializer=normal),
        ]
    )


def answer(model, text):
    """Return the logits of a text from the weights, past Keras."""
    embeddings, kernel, bias = (np.asarray(one) for one in model.get_weights())
    return embeddings[ids(text)].mean(axis=0) @ kernel + bias


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum()


def test_a_model_with_its_function_keeps_the_contract():
    module = network()
    model = adapt(module, ids)
    assert (model.name, model.output.kind) == (module.name, "probabilities")
    texts = [TEXT, "superb", "the plot is dull", "other words"]
    assert model.predict(texts) == pytest.approx(np.array([softmax(answer(module, text)) for text in texts]), abs=1e-5)
    before = module.get_weights()
    check_model(model, TEXT)
    assert all(np.array_equal(one, other) for one, other in zip(before, module.get_weights(), strict=True))


def test_the_last_activation_says_what_the_output_is():
    for activation, columns, expected in (
        ("softmax", 3, ("probabilities", False)), (None, 3, ("logits", False)), ("sigmoid", 2, ("probabilities", True)),
        ("sigmoid", 1, ("probabilities", False)),
    ):  # fmt: skip
        model = KerasModel(network(activation, columns), ids)
        assert (model.output.kind, model.output.multilabel) == expected
    with_layer = keras.Sequential([network(None), keras.layers.Softmax()])
    inside = keras.Sequential([keras.Input((None,), dtype="int32"), network("softmax")])
    assert {KerasModel(one, ids).output.kind for one in (with_layer, inside)} == {"probabilities"}
    with pytest.raises(OptionError, match="comes from tanh"):
        KerasModel(network("tanh"), ids)
    value = KerasModel(network("tanh", 1), ids, outputs="values", labels=["mood"])
    assert list(mase.Explainer(value, n_samples=64)(TEXT).prediction.values) == ["mood"]


@pytest.mark.parametrize(
    ("last", "columns", "multilabel"),
    [
        (keras.ops.softmax, 3, False), (keras.activations.softmax, 3, False),
        (keras.layers.Activation("softmax"), 3, False), (keras.ops.sigmoid, 1, False),
        (keras.activations.sigmoid, 2, True),
    ],
)  # fmt: skip
def test_an_operation_on_the_last_layer_says_what_the_output_is(last, columns, multilabel):
    inner = network(None, columns)
    model = KerasModel(keras.Model(inner.inputs[0], last(inner.outputs[0])), ids)
    assert (model.output.kind, model.output.multilabel) == ("probabilities", multilabel)
    logits = answer(inner, TEXT)
    expected = softmax(logits) if columns == 3 else 1 / (1 + np.exp(-logits))
    assert model.predict([TEXT])[0, -columns:] == pytest.approx(expected, abs=1e-5)


def test_what_does_not_say_what_the_output_is():
    inner = network(None)
    for last, made_by in (
        (keras.ops.log_softmax, "LogSoftmax"), (lambda logits: 2 * logits, "Multiply"),
        (keras.layers.Activation("linear"), "an activation that changes nothing"),
        (keras.layers.Dropout(0.1), "Dropout"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=f"comes from {made_by}, .*outputs='probabilities'"):
            KerasModel(keras.Model(inner.inputs[0], last(inner.outputs[0])), ids)
    unbuilt = keras.Sequential([keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2, activation="sigmoid")])
    for model in (unbuilt, keras.Sequential()):
        with pytest.raises(OptionError, match="have seen no input"):
            KerasModel(model, ids)


def test_models_that_cannot_be_explained():
    class Own(keras.Model):
        def call(self, inputs):
            return {"a": inputs, "b": inputs}

    with pytest.raises(OptionError, match="vectorizer is of type dict, expected a function"):
        mase.Explainer(network(), {"the": 1})
    with pytest.raises(OptionError, match="no input of strings"):
        mase.Explainer(network())
    with pytest.raises(OptionError, match="order is not known"):
        KerasModel(Own(), ids)
    with pytest.raises(ModelError, match="2 outputs"):
        KerasModel(Own(), ids, outputs="logits").predict([TEXT])
    first, second = keras.Input((3,)), keras.Input((3,))
    with pytest.raises(CapabilityError, match="2 inputs"):
        KerasModel(keras.Model([first, second], keras.layers.Add()([first, second])), ids)
    for wrong in (lambda text: [0.5], lambda text: [], lambda text: [[1, 2]]):
        with pytest.raises(ShapeError, match="vectorizer returned"):
            KerasModel(network(), wrong).predict([TEXT])


def test_messages_and_guesses_name_the_class_of_the_model():
    with pytest.raises(ModelError, match=r"pass KerasModel\(\.\.\., outputs='logits'\)"):
        KerasModel(network("linear"), ids, outputs="probabilities").predict([TEXT])
    with pytest.raises(ModelError, match=r"pass KerasModel\(\.\.\., multilabel=True\)"):
        KerasModel(network("sigmoid"), ids, outputs="probabilities").predict([TEXT])
    description = KerasModel(network(), ids, name="mine").description
    assert description.kind == "Keras model mine"
    assert "mase.models.KerasModel(" in description.guesses[0].remedy


def test_spans_of_a_vectorizer_are_left_out_and_tokenizers_are_vectorizers():
    module = network()
    expected = KerasModel(module, ids).predict([TEXT])
    spans = KerasModel(module, lambda text: (ids(text), [(0, 1)] * len(ids(text))))
    assert spans.predict([TEXT]).tolist() == expected.tolist()


def test_a_model_is_sent_to_another_process():
    model = KerasModel(network(), ids, labels=["a", "b", "c"], mask_token="_")
    again = pickle.loads(dumps(mase.Explainer(model, n_samples=64)))
    assert again(TEXT).scores == pytest.approx(mase.Explainer(model, n_samples=64)(TEXT).scores)


@pytest.mark.slow
def test_help_shows_all_models_where_the_backend_of_keras_is_missing():
    code = "import sys; sys.modules['jax'] = None; import mase.models; help(mase.models)"
    found = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"KERAS_BACKEND": "jax"}, capture_output=True, text=True
    )
    assert "class KerasModel" in found.stdout
    assert "class Callable" in found.stdout


def test_awkward_texts():
    module = network()
    explainer = mase.Explainer(module, ids, n_samples=8)
    texts = [text for text in READABLE.values() if len(text) < 1000]
    expected = [softmax(answer(module, text)) for text in texts]
    assert explainer.model.predict(texts) == pytest.approx(np.array(expected), abs=1e-5)
    for label in ("HTML", "Chinese", "right to left", "NUL", "one letter"):
        found = explainer(READABLE[label])
        assert list(found.prediction.probabilities.values()) == pytest.approx(
            expected[texts.index(found.text)], abs=1e-5
        )
    for label in ("empty", "spaces", "lone surrogate"):
        with pytest.raises((EmptyTextError, InvalidTextError)):
            explainer(SILENT[label])


@pytest.mark.skipif(BACKEND == "torch", reason="TextVectorization needs TensorFlow")
def test_a_vectorizer_beside_a_model():
    vectorizer = keras.layers.TextVectorization(vocabulary=WORDS, output_sequence_length=12)
    module = network(length=12)
    check_model(KerasModel(module, vectorizer), TEXT)
    padded = [*ids(TEXT), 0, 0, 0]
    embeddings, kernel, bias = (np.asarray(one) for one in module.get_weights())
    expected = softmax(embeddings[padded].mean(axis=0) @ kernel + bias)
    assert KerasModel(module, vectorizer).predict([TEXT])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow has strings inside a model")
@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_model_that_reads_texts(shape):
    vectorizer = keras.layers.TextVectorization(vocabulary=WORDS, output_sequence_length=12)
    texts = keras.Input(shape, dtype="string")
    module = network(length=12)
    model = adapt(keras.Model(texts, module(vectorizer(texts))))
    check_model(model, TEXT)
    assert model.predict([TEXT]) == pytest.approx(KerasModel(module, vectorizer).predict([TEXT]))
    assert pickle.loads(dumps(model)).predict([TEXT]) == pytest.approx(model.predict([TEXT]))
