"""Tests of `mase.procedures.deep_shap`."""

import itertools

import numpy as np
import pytest
import torch

import mase
from mase.errors import CapabilityError, MissingDependencyError, ModelError
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
    from mase.models.deep_lift import contributions

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
    from mase.models.deep_lift import contributions

    module, placed = LSTMClassifier(LSTMShape(9, 2, 3, 2, "last")).eval(), torch.randn(2, 4, 3)
    with pytest.raises(ModelError, match="unrolled"):
        contributions(module, lambda raw: raw[:, 1], placed, torch.ones(2, 2))
