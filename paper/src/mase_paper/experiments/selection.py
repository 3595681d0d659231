"""Selection of texts: the correctly classified ones of a split, in a seeded order."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mase.arrays import Ints
from mase.errors import EmptyTextError, UnknownNameError
from mase.models.base import Model
from mase.units.splitters import WordPunct, group
from mase_paper.datasets import Split

__all__ = ["LATER", "Chosen", "choose", "later"]
LATER = "test-later"  # the split of `later`
_LATER_SHARE = 0.45
_BATCH = 64  # texts per prediction; part of the protocol, because padding may change the rounding


@dataclass(frozen=True, slots=True)
class Chosen:
    """Text number `number` of a run: row `row` of the split, with its true class `target`, which the model predicts."""

    number: int
    row: int
    id: str
    text: str
    target: int


def choose(model: Model, split: Split, seed: int) -> Iterator[Chosen]:
    """Yield the texts of a split that the model classifies correctly, in the order of one permutation per seed.

    Text number i does not depend on a run's length, methods and masking, so that a longer run extends a shorter one.
    Texts without a word that the model reads are left out.
    """
    if not set(model.labels) & set(split.labels):
        theirs = ", ".join(sorted(set(split.labels))[:5])
        raise UnknownNameError(
            f"{model.name} knows the labels {', '.join(model.labels[:5])}, ..., the data {theirs}, ...: "
            "expected labels in common; check the target and the data set"
        )
    order = _order(len(split), seed).tolist()
    number = 0
    for start in range(0, len(order), _BATCH):
        rows = [row for row in order[start : start + _BATCH] if _has_words(model, split.texts[row])]
        predicted = model.predict([split.texts[row] for row in rows]).argmax(axis=1).tolist() if rows else []
        for row, target in zip(rows, predicted, strict=True):
            if model.labels[target] == split.labels[row]:
                yield Chosen(number, row, split.ids[row], split.texts[row], target)
                number += 1


def later(test: Split) -> Split:
    """Return the last 45 % of a test split in the order of `choose` with seed 0, as a split with the name `LATER`.

    No comparison of methods has come so far: their texts are the first 1,000 that a model classifies correctly (the
    first 10,000 on LSTM-IMDB). The exception is Table 1 on LSTM-Reuters, which has all correctly classified texts.
    """
    order = _order(len(test), 0)
    return test.part(LATER, np.sort(order[len(test) - int(_LATER_SHARE * len(test)) :]))


def _order(n: int, seed: int) -> Ints:
    """Return the permutation `(n,)` of a split's rows in which texts are chosen."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, n)))).permutation(n)


def _has_words(model: Model, text: str) -> bool:
    try:
        return any(word >= 0 for word in group(model.encode(text), WordPunct()).of_token)
    except EmptyTextError:
        return False
