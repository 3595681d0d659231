"""Tests of `mase.models.torch_probe`."""

import numpy as np
import pytest
import torch
from tests.unit.models.modules import TEXT, explain
from tests.unit.models.tiny import family

import mase
from mase.errors import CapabilityError
from mase.models import HuggingFace, TorchModule
from mase.testing import SmallLSTM, Wrapped, whitespace_ids


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_precisions(dtype):
    found, _ = explain(Wrapped(lambda z: z).to(dtype), n_samples=200)
    plain, _ = explain(Wrapped(lambda z: z), n_samples=200)
    assert np.isfinite(found.scores).all()
    tolerance = 1e-6 if dtype == torch.float64 else 0.05
    assert found.scores == pytest.approx(plain.scores, abs=tolerance)


def test_small_noise_survives_a_module_in_half_precision():
    """Near 1 a bfloat16 coordinate has steps of 0.8 %: rounded to them, sigma = 0.01 would be mostly lost."""
    found = mase.Explainer(
        TorchModule(Wrapped(lambda z: z).to(torch.bfloat16), tokenize=whitespace_ids), method="mase-nlgp", sigma=0.02
    )(TEXT)
    plain = mase.Explainer(TorchModule(Wrapped(lambda z: z), tokenize=whitespace_ids), method="mase-nlgp", sigma=0.02)(
        TEXT
    )
    assert found.scores == pytest.approx(plain.scores, abs=0.1 * float(np.abs(plain.scores).max()))


def test_least_squares_recovers_a_linear_torch_model_in_double_precision():
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(500, 8, dtype=torch.float64)
            self.weight = torch.nn.Parameter(torch.randn(8, dtype=torch.float64))

        def forward(self, ids):
            return torch.stack(
                [(self.embed(ids) @ self.weight).sum(dim=1), torch.zeros(len(ids), dtype=torch.float64)], dim=1
            )

    torch.manual_seed(0)
    module = Linear()
    found = mase.Explainer(TorchModule(module, tokenize=whitespace_ids), link="logit")(TEXT, target=0)
    expected = (module.embed(torch.tensor(whitespace_ids(TEXT))) @ module.weight).tolist()
    assert found.scores == pytest.approx(expected, abs=1e-3)


def test_sigma_per_word_with_a_word_that_cannot_move():
    module = SmallLSTM()
    with torch.no_grad():
        module.words.weight[whitespace_ids("good")[0]] = 0
    model = TorchModule(module, tokenize=whitespace_ids)
    p = len(TEXT.split())
    for sigma in (np.full(p, 0.1), 0.01 * np.eye(p)):
        found = mase.Explainer(model, method="mase-nlgp", sigma=sigma, n_samples=100)(TEXT)
        assert dict(found.as_list())["good"] == 0.0
        assert found.scores == pytest.approx(
            mase.Explainer(model, method="mase-nlgp", n_samples=100)(TEXT).scores, abs=1e-6
        )


def small_bert():
    module, tokenizer = family("bert")
    return HuggingFace(module.to("meta"), tokenizer)


def small_lstm():
    return TorchModule(SmallLSTM().to("meta"), tokenize=whitespace_ids)


@pytest.mark.parametrize("make", [small_bert, small_lstm])
def test_a_model_without_its_weights_is_an_error(make):
    model = make()
    for ask in (mase.Explainer(model), lambda text: model.predict([text])):
        with pytest.raises(CapabilityError, match=r"device meta.*load its weights"):
            ask("w1 w2")
