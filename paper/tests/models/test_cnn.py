"""Tests of `mase_paper.models.cnn`."""

import torch

from mase_paper.models.cnn import TextCNN


def test_logits_are_those_of_a_slow_reading_of_the_definition():
    torch.manual_seed(0)
    module = TextCNN(9, 2, width=3, n_filters=2, sizes=(2, 3)).eval()
    ids = torch.tensor([[4, 5, 6, 7]])
    vectors, pooled = module.embedding(ids)[0], []
    for convolution, size in zip(module.convolutions, (2, 3), strict=True):
        zeros = torch.zeros(size - 1, 3)
        padded = torch.cat([zeros, vectors, zeros])
        states = [
            (convolution.weight * padded[start : start + size].T).sum((1, 2)) + convolution.bias
            for start in range(len(padded) - size + 1)
        ]
        pooled.append(torch.stack(states).clamp(min=0).amax(0))
    expected = module.head(torch.cat(pooled))
    assert torch.allclose(module(ids)[0], expected, atol=1e-6)


def test_padding_at_the_end_changes_nothing():
    torch.manual_seed(0)
    module = TextCNN(50, 3, width=8, n_filters=6).eval()
    with torch.no_grad():
        module.convolutions[0].bias += 1.0  # what a filter says about padding alone would show
    texts = [torch.randint(2, 50, (length,)) for length in (1, 4, 9)]
    padded = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    alone = torch.cat([module(text[None]) for text in texts])
    assert torch.allclose(module(padded), alone, atol=1e-6)
