"""Tests of `mase.procedures.gradient_norm`."""

import math

import pytest
import torch

import mase


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
    pieces = mase.Explainer(*small_bert, method="gradient", granularity="token")("unforgettableness moved me")
    scored = zip(pieces.tokens, pieces.responses[0].token_scores, strict=True)
    inside = [score for token, score in scored if token.unit == 0]
    assert len(inside) > 1
    assert words.scores[0] == pytest.approx(math.hypot(*inside), rel=1e-4)
