"""Which texts are explained: the correctly classified ones of the test split, in one seeded order."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mase.datasets import Split
from mase.errors import EmptyTextError, UnknownNameError
from mase.models.protocol import Model
from mase.text import group_words

__all__ = ["Chosen", "choose"]

_AT_ONCE = 64  # texts per prediction; part of the order, since a padded batch may round differently


@dataclass(frozen=True, slots=True)
class Chosen:
    """Text number `number` of a run: row `row` of the split, with the class `target` that the model gives it, rightly."""

    number: int
    row: int
    id: str
    text: str
    target: int


def choose(model: Model, split: Split, seed: int) -> Iterator[Chosen]:
    """Yield the texts of a split that the model classifies correctly, in the order of one permutation per seed.

    Text number i is the same whatever a run's length, methods and masking, so that a longer run extends a shorter one.
    Texts without a word for the model are left out: there is nothing to explain.

    Raises
    ------
    UnknownNameError
        If the split has none of the model's labels.
    """
    if not set(model.labels) & set(split.labels):
        theirs = ", ".join(sorted(set(split.labels))[:5])
        raise UnknownNameError(
            f"{model.name} knows the labels {', '.join(model.labels[:5])}, ..., the data {theirs}, ...: "
            "expected labels in common; check the target and the data set"
        )
    order = (
        np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, len(split)))))
        .permutation(len(split))
        .tolist()
    )
    number = 0
    for start in range(0, len(order), _AT_ONCE):
        rows = [row for row in order[start : start + _AT_ONCE] if _has_words(model, split.texts[row])]
        predicted = model.predict([split.texts[row] for row in rows]).argmax(axis=1).tolist() if rows else []
        for row, target in zip(rows, predicted, strict=True):
            if model.labels[target] == split.labels[row]:
                yield Chosen(number, row, split.ids[row], split.texts[row], target)
                number += 1


def _has_words(model: Model, text: str) -> bool:
    try:
        return any(word >= 0 for word in group_words(model.encode(text)).of_token)
    except EmptyTextError:
        return False
