"""The LSTM text classifier of the bundled models."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from mase.errors import DataError
from mase.models.bundled.files import PAD_ID
from mase.models.torch.weights import read_tensors, tensors

Pool = Literal["last", "max"]


@dataclass(frozen=True, slots=True)
class LSTMShape:
    """Sizes and pooling of an `LSTMClassifier`; `n_words` includes the entries for padding and unknown words."""

    n_words: int
    n_classes: int
    embedding_width: int
    hidden_width: int
    pool: Pool


class LSTMClassifier(nn.Module):
    """Word embeddings, one left-to-right LSTM layer, pooling (the last state or the maximum) and a linear layer.

    Parameters
    ----------
    shape
        Sizes and pooling.
    dropout, embedding_dropout
        Dropout rates of pooled states and of embedding entries in training mode.
    """

    def __init__(self, shape: LSTMShape, dropout: float = 0.0, embedding_dropout: float = 0.0) -> None:
        super().__init__()
        self.pool = shape.pool
        vectors = torch.empty(shape.n_words, shape.embedding_width)
        self.embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
            vectors, freeze=False, padding_idx=PAD_ID
        )
        if not vectors.is_meta:  # normal numbers without storage would import the compiler of torch
            self.embedding.reset_parameters()
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.lstm = nn.LSTM(shape.embedding_width, shape.hidden_width, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(shape.hidden_width, shape.n_classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logits `(b, k)` for ids `(b, t)`; padding at the end of a row is ignored."""
        embedded = self.embedding_dropout(self.embedding(ids))
        real = ids != PAD_ID
        if bool(real.all()):
            states, _ = self.lstm(embedded)
            pooled = states[:, -1] if self.pool == "last" else states.amax(1)
        else:
            pooled = self._pool_padded(embedded, real)
        logits: torch.Tensor = self.head(self.dropout(pooled))
        return logits

    def _pool_padded(self, embedded: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        # A row ends at its last real position. A padding id before that is read as a zero vector.
        positions = torch.arange(1, real.shape[1] + 1, device=real.device)
        lengths = (real * positions).amax(1).clamp(min=1)
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        if self.pool == "last":
            return states[torch.arange(len(states), device=states.device), lengths - 1]
        beyond = positions[: states.shape[1]] > lengths[:, None]
        return states.masked_fill(beyond[:, :, None], -torch.inf).amax(1)


def read_module(path: Path, config: Mapping[str, Any], n_words: int) -> LSTMClassifier:
    """Return the classifier with the weights at `path`, float32, in evaluation mode, with frozen parameters."""
    shape = LSTMShape(n_words, len(config["labels"]), config["embedding_width"], config["hidden_width"], config["pool"])
    with torch.device("meta"):  # takes no memory and no random numbers: the weights are replaced
        module = LSTMClassifier(shape)
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    got = tensors(path)
    if got != expected:
        wrong = {
            name: (got.get(name), expected.get(name)) for name in got | expected if got.get(name) != expected.get(name)
        }
        listed = "; ".join(f"{name:.60} {has}, expected {wants}" for name, (has, wants) in sorted(wrong.items())[:8])
        raise DataError(f"{path} does not fit its config.json and vocabulary.txt of {n_words} entries: {listed}")
    state = {name: tensor.to(torch.float32) for name, tensor in read_tensors(path).items()}
    module.load_state_dict(state, assign=True)
    return module.requires_grad_(requires_grad=False).eval()
