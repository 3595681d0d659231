"""Tests of `mase.models.bundled.lstm`."""

import subprocess
import sys

import pytest
import torch

from mase.models.bundled.lstm import LSTMClassifier, LSTMShape


@pytest.mark.parametrize("pool", ["last", "max"])
def test_padding_at_the_end_changes_nothing(pool):
    torch.manual_seed(0)
    module = LSTMClassifier(LSTMShape(20, 3, 6, 5, pool), dropout=0.5, embedding_dropout=0.5).eval()
    texts = [[5, 6, 7, 8], [9, 3], [4, 0, 2]]  # the padding id inside the third text is read
    alone = torch.cat([_slow(module, ids) for ids in texts])
    padded = torch.tensor([ids + [0] * (6 - len(ids)) for ids in texts])
    with torch.no_grad():
        torch.testing.assert_close(module(padded), alone)
        torch.testing.assert_close(module(torch.tensor([texts[0]])), alone[:1])
        assert module(torch.zeros(1, 2, dtype=torch.int64)).isfinite().all()


def test_a_new_module_has_the_embedding_of_torch():
    torch.manual_seed(0)
    expected = torch.nn.Embedding(20, 6, padding_idx=0)
    torch.manual_seed(0)
    embedding = LSTMClassifier(LSTMShape(20, 3, 6, 5, "last")).embedding
    assert torch.equal(embedding.weight, expected.weight)
    assert (embedding.padding_idx, embedding.weight.requires_grad) == (0, True)


@pytest.mark.slow
def test_a_model_is_read_without_the_compiler_of_torch():
    code = "import sys; from mase.models import load; load('lstm-imdb'); print('torch._dynamo' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]


def _slow(module, ids):
    """Return the logits `(1, k)` of one text by the equations of the LSTM, step by step."""
    with torch.no_grad():
        w_in, w_state, b_in, b_state = module.lstm._flat_weights
        h = c = torch.zeros(module.lstm.hidden_size)
        states = []
        for token in ids:
            i, f, g, o = (w_in @ module.embedding.weight[token] + b_in + w_state @ h + b_state).chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            states.append(h)
        pooled = states[-1] if module.pool == "last" else torch.stack(states).amax(0)
        return module.head(pooled)[None]
