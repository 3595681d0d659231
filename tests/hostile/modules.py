"""Torch modules as people write them: many shapes, modes, dtypes and habits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

__all__ = ["MODULES", "REFUSED", "ids_and_spans", "own_answer"]

WORDS = 400


def ids_and_spans(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Return an id for every run without white space, and where it is."""
    ids, spans, start = [], [], None
    for at, character in enumerate([*text, " "]):
        if character.isspace() or character in "\x1c\x1d\x1e\x1f":
            if start is not None:
                ids.append(5 + sum(map(ord, text[start:at])) % (WORDS - 5))
                spans.append((start, at))
            start = None
        elif start is None:
            start = at
    return ids, spans


class Bag(nn.Module):
    """Embedding, a hidden layer, the largest value over time, and a head: the body of most modules here."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 12)
        self.hidden, self.head = nn.Linear(12, 16), nn.Linear(16, classes)

    def body(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(2 * self.hidden(self.words(ids))).amax(1))

    def forward(self, ids: torch.Tensor) -> Any:
        return self.body(ids)


class Recurrent(nn.Module):
    """An LSTM, GRU or plain recurrent network, its last state read."""

    def __init__(self, kind: type[nn.Module], **settings: Any) -> None:
        super().__init__()
        self.words, self.rnn = nn.Embedding(WORDS, 12), kind(12, 16, batch_first=True, **settings)
        self.head = nn.Linear(16 * (1 + settings.get("bidirectional", False)), 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.rnn(self.words(ids))[0][:, -1])


class Convolution(nn.Module):
    """Kim's CNN: windows of two words, the largest value over time."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.windows = nn.Embedding(WORDS, 12), nn.Conv1d(12, 16, 2, padding=1)
        self.head = nn.Linear(16, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.windows(self.words(ids).transpose(1, 2))).amax(2))


class Attention(nn.Module):
    """A transformer's encoder without positions."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 12)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(12, 2, 24, batch_first=True), 1, enable_nested_tensor=False
        )
        self.head = nn.Linear(12, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.words(ids)).mean(1))


class Normed(Bag):
    """Batch statistics, which are fixed in evaluation mode only."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.body(ids))


class Tuple(Bag):
    def forward(self, ids: torch.Tensor) -> Any:
        return self.body(ids), ids


class Dictionary(Bag):
    def forward(self, ids: torch.Tensor) -> Any:
        return {"logits": self.body(ids), "ids": ids}


class Output(Bag):
    def forward(self, ids: torch.Tensor) -> Any:
        return SequenceClassifierOutput(logits=self.body(ids))


class Probabilities(Bag):
    def forward(self, ids: torch.Tensor) -> Any:
        return self.body(ids).softmax(-1)


class Dropping(Bag):
    """Left in training mode, with dropout."""

    def forward(self, ids: torch.Tensor) -> Any:
        return self.body(ids) + nn.functional.dropout(torch.ones(len(ids), 3), 0.5, self.training) - 1


class Shared(Bag):
    """The embedding is also the head's weight."""

    def __init__(self) -> None:
        super().__init__(12)
        self.turn = nn.Linear(12, 12)

    def forward(self, ids: torch.Tensor) -> Any:
        return (self.turn(self.words(ids)).amax(1) @ self.words.weight.T)[:, :3]


class InPlace(Bag):
    """Changes what its layers return."""

    def forward(self, ids: torch.Tensor) -> Any:
        vectors = self.words(ids)
        vectors.mul_(2.0).relu_()
        return self.head(self.hidden(vectors).amax(1).tanh_())


class Caching(Bag):
    """Keeps what it saw and computed last, on itself."""

    def forward(self, ids: torch.Tensor) -> Any:
        self.last_ids, self.last = ids, self.body(ids)
        return self.last


class Counting(Bag):
    """Counts its calls in a buffer that a state dict does not hold."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.body(ids)


class TimeFirst(Bag):
    """Reads ids `(t, b)`, as torch's recurrent layers do by default."""

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head(torch.tanh(self.hidden(self.words(ids))).amax(0))


class PerToken(Bag):
    """Scores for every token, as a tagger or a language model has them."""

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head(self.hidden(self.words(ids)))


class Summed(nn.Module):
    """An `EmbeddingBag`, which has no vectors of words to enter at."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.EmbeddingBag(WORDS, 12), nn.Linear(12, 3)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head(self.words(ids))


class Endless(Bag):
    def forward(self, ids: torch.Tensor) -> Any:
        return self.body(ids) / 0.0


class Raising(Bag):
    def forward(self, ids: torch.Tensor) -> Any:
        raise KeyError("no such word")


def _with_gradients() -> nn.Module:
    module = Bag()
    module(torch.tensor([[5, 6, 7]])).sum().backward()
    return module


def _hooked() -> nn.Module:
    module = Bag()
    module.words.register_forward_hook(lambda _, __, output: output + 0.01)
    return module


def _seen() -> nn.Module:
    module = Normed()
    for _ in range(3):
        module(torch.randint(5, WORDS, (8, 6)))
    return module.eval()


MODULES: dict[str, Callable[[], nn.Module]] = {
    "LSTM": lambda: Recurrent(nn.LSTM).eval(),
    "bidirectional GRU": lambda: Recurrent(nn.GRU, bidirectional=True).eval(),
    "recurrent in training mode": lambda: Recurrent(nn.RNN, nonlinearity="relu").train(),
    "CNN": lambda: Convolution().eval(),
    "transformer": lambda: Attention().eval(),
    "batch norm": _seen,
    "one column": lambda: Bag(1).eval(),
    "returns a tuple": lambda: Tuple().eval(),
    "returns a dictionary": lambda: Dictionary().eval(),
    "returns a ModelOutput": lambda: Output().eval(),
    "returns probabilities": lambda: Probabilities().eval(),
    "frozen": lambda: Bag().requires_grad_(requires_grad=False).eval(),
    "half precision": lambda: Bag().to(torch.bfloat16).eval(),
    "double precision": lambda: Bag().to(torch.float64).eval(),
    "training mode with dropout": lambda: Dropping().train(),
    "shared embedding": lambda: Shared().eval(),
    "changes in place": lambda: InPlace().eval(),
    "caches on itself": lambda: Caching().eval(),
    "buffer outside the state": lambda: Counting().eval(),
    "gradients are there": _with_gradients,
    "hooks are there": _hooked,
    "weight norm": lambda: _normed_weight(),
}
# Modules that are no classifier, or cannot be entered.
REFUSED: dict[str, Callable[[], nn.Module]] = {
    "one column without labels": lambda: Bag(1).eval(),
    "reads time first": lambda: TimeFirst().eval(),
    "scores every token": lambda: PerToken().eval(),
    "sums inside the embedding": lambda: Summed().eval(),
    "infinite": lambda: Endless().eval(),
    "raises": lambda: Raising().eval(),
}


def _normed_weight() -> nn.Module:
    module = Bag()
    nn.utils.parametrizations.weight_norm(module.head)
    return module.eval()


def own_answer(module: nn.Module) -> Callable[[str], Any]:
    """Return the function from a text to the class probabilities of the module in evaluation mode."""

    def asked(text: str) -> np.ndarray:
        training = [part for part in module.modules() if part.training]
        try:
            with torch.no_grad():
                raw = module.eval()(torch.tensor([ids_and_spans(text)[0]]))
        finally:
            for part in training:
                part.training = True
        raw = raw["logits"] if isinstance(raw, dict) else raw[0] if isinstance(raw, tuple) else raw
        scores = raw.to(torch.float64)[0]
        if len(scores) == 1:
            return np.array([1 - scores.sigmoid()[0], scores.sigmoid()[0]])
        return (scores if isinstance(module, Probabilities) else scores.softmax(-1)).numpy()

    return asked
