"""Texts as ids, labels as numbers, and their batches."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from mase.arrays import Ints
from mase.models.bundled.files import PAD_ID, UNKNOWN_ID, Vocabulary, words
from mase.text import Side

__all__ = ["Examples", "encode", "learned_vocabulary", "shuffled_batches", "sorted_batches"]


@dataclass(frozen=True, slots=True)
class Examples:
    """n encoded texts, each of its own length, with class numbers `(n,)` (-1: a label that the model does not have)."""

    ids: tuple[tuple[int, ...], ...]
    labels: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def some(self, n: int) -> "Examples":
        """Return n of the texts, or all if there are fewer, in a fixed random order: tables are sorted by label."""
        rows = np.random.default_rng(0).permutation(len(self))[:n]
        return Examples(tuple(self.ids[row] for row in rows), self.labels[rows])

    def batch(self, rows: Ints) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids `(b, t)`, padded at the end, and class numbers `(b,)` of some rows."""
        longest = max(len(self.ids[row]) for row in rows)
        padded = np.full((len(rows), longest), PAD_ID, dtype=np.int64)
        for place, row in enumerate(rows):
            padded[place, : len(self.ids[row])] = self.ids[row]
        return torch.from_numpy(padded), torch.from_numpy(self.labels[rows])


def learned_vocabulary(texts: Iterable[str], size: int, min_count: int) -> Vocabulary:
    """Return the `size` most frequent words that occur at least `min_count` times; ties in alphabetical order."""
    counts = Counter(word for text in texts for word, _ in words(text))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Vocabulary.of([word for word, count in ranked[:size] if count >= min_count])


def encode(
    texts: Sequence[str],
    labels: Sequence[str],
    vocabulary: Vocabulary,
    known: Sequence[str],
    max_length: int,
    keep: Side,
) -> Examples:
    """Return texts as at most `max_length` ids, from their start or end; a text without a word is one unknown word."""
    number = {label: index for index, label in enumerate(known)}
    cut = slice(max_length) if keep == "start" else slice(-max_length, None)
    ids = tuple(tuple(vocabulary.encode(text)[0][cut]) or (UNKNOWN_ID,) for text in texts)
    return Examples(ids, np.array([number.get(label, -1) for label in labels], dtype=np.int64))


def shuffled_batches(examples: Examples, size: int, bucket: int, rng: np.random.Generator) -> list[Ints]:
    """Return the rows of each batch of one epoch: random, but of like length within `bucket` batches."""
    lengths = np.array([len(ids) for ids in examples.ids])
    order = rng.permutation(len(examples))
    batches: list[Ints] = []
    for start in range(0, len(order), size * bucket):
        near = order[start : start + size * bucket]
        near = near[np.argsort(lengths[near], kind="stable")]
        batches += [near[first : first + size] for first in range(0, len(near), size)]
    return [batches[index] for index in rng.permutation(len(batches))]


def sorted_batches(examples: Examples, size: int = 256) -> list[Ints]:
    """Return the rows of each batch in order of length."""
    order = np.argsort([len(ids) for ids in examples.ids], kind="stable").astype(np.int64)
    return [order[start : start + size] for start in range(0, len(order), size)]
