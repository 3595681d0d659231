"""A convolutional text classifier (Y. Kim, EMNLP 2014): filters over 3, 4 and 5 words, and their maximum over time."""

import torch
from torch import nn

from mase.models.bundled.files import PAD_ID

__all__ = ["N_FILTERS", "WIDTH", "TextCNN"]
WIDTH, N_FILTERS = 100, 100


class TextCNN(nn.Module):
    """Word embeddings, convolutions of several widths, the maximum of each filter over the text, a linear layer.

    Parameters
    ----------
    n_words, n_classes
        Entries of the vocabulary, with padding and the unknown word, and classes.
    width, n_filters, sizes
        Width of the embedding, filters of each size, and their sizes in words.
    dropout, embedding_dropout
        Dropout rates of pooled values and of embedding entries in training mode.
    """

    def __init__(
        self,
        n_words: int,
        n_classes: int,
        width: int = WIDTH,
        n_filters: int = N_FILTERS,
        sizes: tuple[int, ...] = (3, 4, 5),
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, width, padding_idx=PAD_ID)
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.convolutions = nn.ModuleList(nn.Conv1d(width, n_filters, size, padding=size - 1) for size in sizes)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(n_filters * len(sizes), n_classes)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return logits `(b, k)` for ids `(b, t)`; padding at the end of a row is ignored.

        Beyond both ends of a text, filters read zeros.
        """
        embedded = self.embedding_dropout(self.embedding(ids)).transpose(1, 2)
        positions = torch.arange(1, ids.shape[1] + 1, device=ids.device)
        lengths = ((ids != PAD_ID) * positions).amax(1).clamp(min=1)
        pooled = []
        for convolution in self.convolutions:
            states = convolution(embedded).relu()
            read = torch.arange(states.shape[2], device=ids.device) < lengths[:, None] + states.shape[2] - ids.shape[1]
            pooled.append(states.masked_fill(~read[:, None], 0.0).amax(2))  # 0 is the lowest value of a filter
        logits: torch.Tensor = self.head(self.dropout(torch.cat(pooled, 1)))
        return logits
