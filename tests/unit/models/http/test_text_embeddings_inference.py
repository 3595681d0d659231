"""The route `/predict` of text-embeddings-inference, against a local server that answers as the real one does."""

import pickle

import numpy as np
import pytest
from tests.servers import INFO, LABELS, TEI, content, logits, served

from mase import Explainer
from mase.errors import CapabilityError, InvalidTextError, OptionError, ServiceError
from mase.models import Callable, TextEmbeddingsInference

TEXT = "A superb cast, but not dull."


@pytest.fixture
def server():
    with served(dict(TEI)) as (url, double):
        yield url, double


def local(**options):
    return Callable(logits, list(LABELS), outputs="logits", name="owner/sentiment", **options)


def test_the_explanation_is_that_of_the_function_itself(server):
    url, double = server
    model = TextEmbeddingsInference(url)
    assert (model.name, model.labels) == ("owner/sentiment", LABELS)
    assert Explainer(model, n_samples=64, seed=2)(TEXT) == Explainer(local(), n_samples=64, seed=2)(TEXT)
    bodies = double.asked("/predict")
    assert max(len(body["inputs"]) for body in bodies) == INFO["max_client_batch_size"]
    assert {(body["raw_scores"], body["truncate"]) for body in bodies} == {(True, False)}


def test_probabilities_instead_of_logits(server):
    model = TextEmbeddingsInference(server[0] + "/predict", raw_scores=False, truncate=True)
    assert np.allclose(model.predict([TEXT, "dull"]), local().predict([TEXT, "dull"]), atol=1e-12)
    assert server[1].asked("/predict")[0]["truncate"] is True


def test_a_pair_is_one_sequence_of_two(server):
    url, double = server
    model = TextEmbeddingsInference(url)
    pair = ("superb", "a dull film")
    assert model.predict([pair]).tolist() == local().predict([{"text": pair[0], "text_pair": pair[1]}]).tolist()
    assert double.asked("/predict")[-1]["inputs"] == [list(pair)]
    found = Explainer(model, n_samples=32)(pair)
    assert {unit.text for unit in found.units} == {"superb", "a", "dull", "film"}
    with pytest.raises(InvalidTextError, match="pair of texts"):
        model.predict([{"a": "x", "b": "y", "c": "z"}])


def test_an_empty_text_is_sent_as_a_space(server):
    url, double = server
    TextEmbeddingsInference(url).predict(["", ("", ""), ("", "x")])
    assert double.asked("/predict")[-1]["inputs"] == [[" "], [" ", ""], ["", "x"]]


def test_chosen_order_of_labels(server):
    order = ["pos", "neg", "neutral"]
    model = TextEmbeddingsInference(server[0], order)
    assert model.labels == tuple(order)
    assert model.predict(["superb"])[0].tolist() == local().predict(["superb"])[0][[2, 0, 1]].tolist()
    with pytest.raises(ServiceError, match="expected a number for each of the classes"):
        TextEmbeddingsInference(server[0], ["good", "bad"]).predict(["superb"])


def test_labels_that_only_the_answers_tell(server):
    url, double = server
    del double.routes["GET /info"]
    model = TextEmbeddingsInference(url)
    assert model.labels == ("neg", "neutral", "pos")
    assert model.name == url
    assert pickle.loads(pickle.dumps(model)).known_labels == model.labels


def test_multilabel_and_one_class(server):
    url, double = server
    sigmoid = 1 / (1 + np.exp(-np.array(logits(["superb"]))))
    assert np.allclose(TextEmbeddingsInference(url, multilabel=True).predict(["superb"]), sigmoid)
    with pytest.raises(OptionError, match="raw_scores"):
        TextEmbeddingsInference(url, multilabel=True, raw_scores=False)
    double.routes["GET /info"] = lambda body: {"model_type": {"reranker": {"id2label": {"0": "relevant"}}}}
    double.faults = [content(b'[[{"label": "relevant", "score": 0.0}]]')]
    model = TextEmbeddingsInference(url)
    assert model.predict([("query", "text")]).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("kinds", [{"embedding": {"pooling": "cls"}}, {"splade": None}])
def test_another_model_than_a_classifier(server, kinds):
    server[1].routes["GET /info"] = lambda body: INFO | {"model_type": kinds}
    with pytest.raises(CapabilityError, match="expected a classifier"):
        TextEmbeddingsInference(server[0])


@pytest.mark.parametrize("names", [["a"], [0, 5], {"x": "a"}, {"0": "a", "one": "b"}])
def test_labels_that_cannot_be_read(server, names):
    server[1].routes["GET /info"] = lambda body: {"model_type": {"classifier": {"id2label": names}}}
    with pytest.raises(ServiceError, match="id2label"):
        TextEmbeddingsInference(server[0])
