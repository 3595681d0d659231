"""Tests of `mase.metrics.perturbed_model`."""

import numpy as np
import pytest
import torch

from mase import Explainer
from mase.errors import CapabilityError, MaseError
from mase.metrics.evaluator import Evaluator
from mase.metrics.masking import masker
from mase.metrics.max_sensitivity import MaxSensitivity
from mase.metrics.perturbed_model import Nearby
from mase.models import TorchModule, load
from mase.models.protocol import Binding
from mase.spaces.token_scale import TokenScale
from mase.testing import whitespace_ids


@pytest.mark.parametrize("method", ["standard-gaussian", "smoothgrad", "mase-cone", "mase-paper", "mase"])
def test_the_neighbour_at_no_distance_is_the_model_itself(method, lstm_model):
    words = "one two three four five"
    ours, near = (
        Explainer(model, method=method, n_samples=64)(words, target=0)
        for model in (lstm_model, Nearby(lstm_model, np.ones(5)))
    )
    assert np.allclose(near.scores, ours.scores, atol=1e-6)
    assert near.prediction.probability == pytest.approx(ours.prediction.probability, abs=1e-6)


def test_answers_that_are_not_finite_where_words_are_deleted_are_an_error(small_lstm):
    class Short(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small_lstm

        def forward(self, ids):
            return self.inner(ids) if ids.shape[1] > 2 else torch.full((len(ids), 2), torch.nan)

    model = TorchModule(Short(), tokenize=whitespace_ids, labels=["neg", "pos"], embedding="inner.words", pad_id=0)
    bound = masker(model, "one two three four", "delete")
    bound.probabilities(np.array([[True, True, True, False]]))
    with pytest.raises(MaseError, match="not finite"):
        bound.probabilities(np.array([[True, False, False, False]]))


def test_a_neighbour_is_the_model_with_other_embeddings(small_lstm, lstm_model):
    words = "one two three four five"
    factors = np.array([1.3, 0.8, 1.1, 0.9, 1.2])
    near = Explainer(Nearby(lstm_model, factors), method="mase-paper", n_samples=64)(words, target=0)
    gradient = Explainer(Nearby(lstm_model, factors), method="mase-gradient", n_samples=8)(words, target=0)
    norms = Explainer(Nearby(lstm_model, factors), method="gradient")(words, target=0)
    with torch.no_grad():
        for index, factor in zip(whitespace_ids(words), factors, strict=True):
            small_lstm.words.weight[index] *= factor
    moved = Explainer(lstm_model, method="mase-paper", n_samples=64)(words, target=0)
    assert np.allclose(near.scores, moved.scores, atol=1e-5)
    assert near.prediction.probability == pytest.approx(moved.prediction.probability, abs=1e-6)
    by_gradient = Explainer(lstm_model, method="mase-gradient", n_samples=8)(words, target=0)
    assert np.allclose(gradient.scores, by_gradient.scores, atol=1e-5)
    assert np.allclose(norms.scores, Explainer(lstm_model, method="gradient")(words, target=0).scores, atol=1e-5)


def test_a_neighbours_own_scores_are_asked_once(lstm_model, monkeypatch):
    tokens = lstm_model.encode("one two three")
    binding = Binding(tokens, TokenScale(), np.arange(3), 3, (0,), 0.0)
    kind, asked = type(lstm_model.bind(binding)), []
    whole = kind.scores
    monkeypatch.setattr(kind, "scores", lambda self, c, rows: asked.append(len(c)) or whole(self, c, rows))
    probe = Nearby(lstm_model, np.full(3, 1.1)).bind(binding)
    assert np.array_equal(probe.start, probe.start)
    assert probe.n_setup - lstm_model.bind(binding).n_setup == sum(asked) == 1
    assert np.array_equal(probe.start, whole(probe.probe, np.full((1, 3), 1.1), np.zeros(1, dtype=int)))


@pytest.mark.parametrize(("method", "what"), [("permutation-importance", "exchange words"), ("deep-shap", "DeepLIFT")])
def test_methods_without_neighbours_say_so(method, what):
    model = load("lstm-imdb")
    metrics = {"sensitivity": MaxSensitivity(n_draws=1)}
    with pytest.raises(CapabilityError, match=rf"{what}.* cannot explain the neighbours of a text, which max-sens"):
        Evaluator(model, methods=[method], metrics=metrics, n_samples=20)("a superb film")
    (found,) = Evaluator(model, methods=["gradient"], metrics=metrics)("a superb film").by_method["gradient"].values
    assert 0 < found < 1
