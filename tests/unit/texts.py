"""Models that cut texts off and whose scores are known, and long texts for them."""

import torch

from mase.models import TorchModule

WORDS = 300
LENGTH = 40


class Additive(torch.nn.Module):
    """Logits that add up: those of the second class by a known amount per word, times 1 + `slope` * its place."""

    def __init__(self, worth, slope=0.0):
        super().__init__()
        vectors = torch.tensor([[0.0, float(one)] for one in worth], dtype=torch.float64)
        self.words = torch.nn.Embedding.from_pretrained(vectors)
        self.slope = slope

    def forward(self, ids):
        places = 1 + self.slope * torch.arange(ids.shape[1], dtype=torch.float64)
        return (self.words(ids) * places[:, None]).sum(dim=1)


class Paired(Additive):
    """Additive, and 4 less for the second class where two words are both there."""

    def __init__(self, worth, first, second):
        super().__init__(worth)
        self.pair = first, second

    def forward(self, ids):
        kept = self.words(ids)[:, :, 1] != 0  # a masked word has another vector, in the place of its id
        both = torch.stack([(kept & (ids == number)).any(dim=1) for number in self.pair]).all(dim=0)
        return super().forward(ids) - 4 * both[:, None] * torch.tensor([0.0, 1.0], dtype=torch.float64)


def worth(number):
    """The amount of word number i: of both signs, and the same for every 50th word."""
    return ((number * 37) % 50 - 20) / 64


def tokenize(text):
    ids, spans, start = [], [], 0
    for word in text.split():
        start = text.index(word, start)
        ids.append(int(word.strip(".w")))
        spans.append((start, start + len(word)))
        start += len(word)
    return ids, spans


def additive(slope=0.0, max_length=LENGTH, labels=("no", "yes"), **options):
    module = Additive([worth(number) for number in range(WORDS)], slope)
    return TorchModule(module, tokenize=tokenize, max_length=max_length, outputs="logits", labels=labels, **options)


def paired(first, second):
    """A model in which two words interact."""
    module = Paired([worth(number) for number in range(WORDS)], first, second)
    return TorchModule(module, tokenize=tokenize, max_length=LENGTH, outputs="logits", labels=["no", "yes"])


def long_text(n=150, sentence=12):
    """The words w0 to w(n - 1), with a full stop after each 12th."""
    return " ".join(f"w{number}." if number % sentence == sentence - 1 else f"w{number}" for number in range(n))
