"""Small torch classifiers with random weights, and a tokenizer that needs no vocabulary.

This is the only module of `mase.testing` that imports torch.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

VOCABULARY = 500
N_SPECIAL = 10


def whitespace_ids(text: str) -> list[int]:
    """Return an id from 10 to 499 for each whitespace word, by the sum of its characters; lower ids are for roles."""
    return [N_SPECIAL + sum(map(ord, word)) % (VOCABULARY - N_SPECIAL) for word in text.split()]


class SmallLSTM(nn.Module):
    """From ids `(b, t)` to logits `(b, k)` by an LSTM, max-pooling over time, dropout and a linear layer."""

    def __init__(self, classes: int = 2, vocabulary: int = VOCABULARY, width: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, 24, batch_first=True)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(24, classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logits `(b, k)`."""
        states, _ = self.lstm(self.words(ids))
        logits: torch.Tensor = self.head(self.dropout(states.max(dim=1).values))
        return logits


class SmallMLP(nn.Module):
    """From ids `(b, t)` to logits `(b, 2)` by layers that run in bfloat16 on every processor, unlike an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.hidden = nn.Embedding(VOCABULARY, 16), nn.Linear(16, 24)
        self.head = nn.Linear(24, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logits `(b, 2)`."""
        logits: torch.Tensor = self.head(torch.tanh(3 * self.hidden(self.words(ids))).amax(dim=1))
        return logits


class Wrapped(nn.Module):
    """A `SmallLSTM` with fixed weights that applies the function `wrap` to its logits `(b, k)`."""

    def __init__(self, wrap: Callable[[torch.Tensor], Any], classes: int = 2) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            self.inner = SmallLSTM(classes)
        self.wrap = wrap

    def forward(self, ids: torch.Tensor) -> Any:
        """Return `wrap(logits)`."""
        return self.wrap(self.inner(ids))
