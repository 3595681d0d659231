"""Tests of `mase.procedures.gradients`."""

import itertools
import math

import numpy as np
import pytest
import torch

import mase
from mase.errors import CapabilityError, MissingDependencyError, ModelError, TooFewSamplesError
from mase.models import load

TEXT = "I went in expecting a dull film and left delighted: superb acting, a clever story and a wonderful ending"


@pytest.mark.parametrize("name", ["lstm-imdb", "lstm-reuters"])
@pytest.mark.parametrize("link", ["probability", "log-probability", "logit", "margin"])
def test_deep_shap_sums_to_text_minus_reference(name, link):
    pytest.importorskip("captum")
    model = load(name)
    for reference in ("unk", "zero"):
        found = mase.Explainer(model, method="deep-shap", link=link, reference=reference, evidence=0)(TEXT)
        exact = mase.Explainer(model, method="kernel-shap", link=link, reference=reference, n_samples=60, evidence=0)(
            TEXT
        )
        assert found.scores.sum() == pytest.approx(exact.scores.sum(), abs=2e-4 * max(1, abs(exact.scores).max()))
        assert np.abs(found.scores).max() > 0
    assert (found.fit.n_queries, found.fit.n_gradients) == (3, 2)


def test_gates_have_the_shapley_value_of_a_product():
    pytest.importorskip("captum")
    from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
    from mase.models.torch.deep_lift import contributions

    torch.manual_seed(0)
    module = LSTMClassifier(LSTMShape(9, 2, 3, 2, "last")).eval()
    with torch.no_grad():  # the input and new-content gates alone read the word, the others are constant
        h = 2
        module.lstm.weight_ih_l0[h : 2 * h] = 0
        module.lstm.weight_ih_l0[3 * h :] = 0
        module.lstm.weight_ih_l0[:h, 1:] = 0  # the first entry moves the gate, the second the content
        module.lstm.weight_ih_l0[2 * h : 3 * h, 0] = 0
    placed = torch.tensor([[[0.7, -1.2, 0.4]], [[0.0, 0.0, 0.0]]])
    cells = []
    for gate, content in itertools.product((1, 0), repeat=2):  # 1: of the text, 0: of the reference
        mixed = torch.stack([placed[1 - gate, 0, 0], placed[1 - content, 0, 1], placed[1 - content, 0, 2]])
        _, (_, cell) = module.lstm(mixed[None, None])
        cells.append(cell[0, 0].detach().double())
    logits = module.head(module.lstm(placed)[0][:, -1]).detach()
    both, only_gate, only_content, neither = cells
    by_gate, by_content = (
        (both - only_content + only_gate - neither) / 2,
        (both - only_gate + only_content - neither) / 2,
    )
    found = contributions(module, lambda raw: raw[:, 1], placed, logits)
    leave = torch.sigmoid((module.lstm.bias_ih_l0 + module.lstm.bias_hh_l0)[3 * h :]).detach().double()
    slope = leave * (both.tanh() - neither.tanh()) / (both - neither) * module.head.weight[1].detach().double()
    assert float(found.sum()) == pytest.approx(float((slope * (by_gate + by_content)).sum()), rel=1e-5)
    assert float(found.sum()) == pytest.approx(float(logits[0, 1] - logits[1, 1]), rel=1e-4)


def test_deep_shap_says_what_it_cannot(lstm_model, small_bert, monkeypatch):
    with pytest.raises(CapabilityError, match="got a SmallLSTM, expected an LSTM classifier"):
        mase.Explainer(lstm_model, method="deep-shap", evidence=0)("slow and dull")
    with pytest.raises(CapabilityError, match="expected an LSTM classifier"):
        mase.Explainer(*small_bert, method="deep-shap", evidence=0)("slow and dull")
    monkeypatch.setitem(__import__("sys").modules, "captum.attr", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[deep-shap\]'"):
        mase.Explainer("lstm-imdb", method="deep-shap", evidence=0)("slow and dull")


def test_deep_shap_refuses_an_unrolled_network_with_other_logits():
    from mase.models.bundled.lstm import LSTMClassifier, LSTMShape
    from mase.models.torch.deep_lift import contributions

    module, placed = LSTMClassifier(LSTMShape(9, 2, 3, 2, "last")).eval(), torch.randn(2, 4, 3)
    with pytest.raises(ModelError, match="unrolled"):
        contributions(module, lambda raw: raw[:, 1], placed, torch.ones(2, 2))


def test_gradient_is_the_norm_of_the_embedding_gradient(lstm_model):
    found = mase.Explainer(lstm_model, method="gradient", link="logit")("slow and dull", target="pos")
    module = lstm_model.module.eval()
    ids = torch.tensor([[10 + sum(map(ord, word)) % 490 for word in ("slow", "and", "dull")]])
    vectors = module.words(ids).detach().requires_grad_(True)
    states, _ = module.lstm(vectors)
    module.head(states.max(dim=1).values)[0, 1].backward()
    assert found.scores == pytest.approx(vectors.grad[0].norm(dim=1).tolist(), rel=1e-5)


def test_gradient_of_a_word_of_several_tokens_is_that_of_one_long_vector(small_bert):
    words = mase.Explainer(*small_bert, method="gradient")("unforgettableness moved me")
    pieces = mase.Explainer(*small_bert, method="gradient", units="token")("unforgettableness moved me")
    scored = zip(pieces.tokens, pieces.responses[0].token_scores, strict=True)
    inside = [score for token, score in scored if token.unit == 0]
    assert len(inside) > 1
    assert words.scores[0] == pytest.approx(math.hypot(*inside), rel=1e-4)


def test_sequential_ig_is_occlusion_by_another_road(lstm):
    for reference in ("unk", "zero"):
        white = mase.Explainer(lstm, method="sequential-ig", reference=reference)(TEXT).scores
        box = mase.Explainer(lstm, method="occlusion", reference=reference)(TEXT).scores
        assert white == pytest.approx(box, abs=2e-3 * np.abs(box).max())


def test_sequential_ig_needs_a_gradient_for_every_word(lstm):
    with pytest.raises(TooFewSamplesError, match="n_samples leaves 5 for the scores, expected at least 19"):
        mase.Explainer(lstm, method="sequential-ig", n_samples=5)(TEXT)
