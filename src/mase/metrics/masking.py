"""Mask words of a text with an operator, and evaluate the model on the rest."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mase.arrays import Bools, Floats
from mase.document import Input
from mase.errors import EmptyTextError, ShapeError
from mase.metrics.operators import OPERATORS, Operator, check_operator
from mase.models.protocol import Model
from mase.rng import untouched
from mase.text import Tokens, Words
from mase.units import DEFAULT, Units, splitter
from mase.units.grouping import group

__all__ = ["Masker", "MaskingOperator", "PredictMasked", "masker", "with_cache"]


class PredictMasked(Protocol):
    """A function from rows of kept words to class probabilities."""

    def __call__(self, kept: Bools) -> Floats:
        """Return class probabilities `(n, k)` for n rows of kept words `(n, w)`."""
        ...


@dataclass(frozen=True, slots=True)
class Masker:
    """One model bound to one text, whose words can be masked with one operator.

    Attributes
    ----------
    words
        The w words that the model reads. Special tokens and padding belong to no word and are never masked.
    operator
        Name of the masking operator; never "auto".
    text_probabilities
        `(k,)`: class probabilities of the unmasked text.
    predict
        Returns class probabilities for rows of kept words.
    multilabel
        Whether the k classes are independent labels instead of one choice among k.
    """

    words: Words
    operator: str
    text_probabilities: Floats
    predict: PredictMasked
    multilabel: bool = False

    @property
    def target(self) -> int:
        """Index of the most probable class of the unmasked text."""
        return int(np.argmax(self.text_probabilities))

    @property
    def prediction(self) -> int | None:
        """Index of the class that the model predicts for the unmasked text: the target, or None if it is `flipped`."""
        return None if self.flipped(self.text_probabilities[None, :], self.target)[0] else self.target

    def flipped(self, probabilities: Floats, target: int) -> Bools:
        """Return whether class probabilities `(n, k)` no longer predict `target` `(n,)`.

        In single-label classification, another class is the most probable one. Of equally probable classes the first
        counts. In multi-label classification, the probability of the target is below 0.5; other classes do not matter.
        """
        return np.asarray(probabilities[:, target] < 0.5 if self.multilabel else probabilities.argmax(axis=1) != target)

    def probabilities(self, kept: Bools) -> Floats:
        """Return class probabilities `(n, k)` for rows of kept words `(n, w)`; equal rows are evaluated once.

        Raises
        ------
        ShapeError
            If `kept` is not a boolean array `(n, w)`.
        ModelError
            If the model raises, or returns anything but finite class scores.
        """
        rows = np.asarray(kept)
        if rows.dtype != np.bool_ or rows.ndim != 2 or rows.shape[1] != len(self.words):
            raise ShapeError(
                f"kept is {rows.dtype} of shape {rows.shape}, expected booleans of shape (n, {len(self.words)})"
            )
        if not len(rows):
            return np.empty((0, len(self.text_probabilities)))
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        with untouched():
            return self.predict(distinct)[inverse.reshape(-1)]


class MaskingOperator(Protocol):
    """A way to mask words of a text."""

    def bind(self, model: Model, tokens: Tokens, words: Words) -> Masker:
        """Return the masker of the text with these tokens and words.

        Raises
        ------
        CapabilityError
            If the model does not support this operator.
        """
        ...


def masker(model: Model, text: Input, operator: Operator = "auto", units: Units = DEFAULT) -> Masker:
    """Return the masker of one text.

    Parameters
    ----------
    model
        An adapter from `mase.models`.
    text
        The text. Words that the model cuts off are not among the masker's words.
    operator
        What replaces a masked word: the model's "mask", "unk" or "pad" token (for each token of the word), the "zero"
        vector, or nothing ("delete"). "auto" is the first reference of the model: its mask token, else its unknown
        token, else padding, else zero. For a function of texts it is the mask token, else "delete".
    units
        The units that are masked as one: those of the attributions; see `mase.Explainer`.

    Notes
    -----
    A masked word is replaced by the token's embedding, once for each token of the word. Token ids stay those of the
    text. The bundled LSTMs, for example, skip padding at the end by its ids, but they read the vector of a word that is
    masked with "pad".

    "delete" shortens the sequence of tokens that the model reads. A truncated text is not truncated again: no token
    moves in from beyond the window. If no token is left, the model reads a single reference token instead (the first
    that it has of mask, unk, pad and the zero vector). This cannot happen with transformers, which keep their special
    tokens. For a function of texts "delete" removes the words from the string, which may leave it empty. The words
    around a removed word are not joined (see `mase.models.rewriting`).

    Raises
    ------
    UnknownNameError
        If there is no such operator.
    CapabilityError
        If the model does not have the token, or cannot predict tokens.
    EmptyTextError
        If the text has no word that the model reads.
    """
    check_operator(operator)
    chosen: MaskingOperator = OPERATORS[model.references[0] if operator == "auto" else operator]
    with untouched():
        tokens = model.encode(text)
        by = splitter(units)
        words = group(tokens, by)
        if not len(words):
            raise EmptyTextError(
                f"text {tokens.text[:40]!r} has nothing that the model reads and that is a unit by {by.name!r:.60}, "
                "expected at least one unit"
            )
        return chosen.bind(model, tokens, words)


def with_cache(masker: Masker) -> Masker:
    """Return the same masker with a cache, so that the model is evaluated once for each distinct row of kept words.

    Metrics share many rows with each other, and so do the methods evaluated on one text. The cache lives as long as the
    masker.
    """
    return replace(masker, predict=_CachedPredict(masker.predict, {}))


@dataclass(frozen=True, slots=True)
class _CachedPredict:
    """Class probabilities `(k,)` by the packed bits of the kept words."""

    predict: PredictMasked
    cache: dict[bytes, Floats]

    def __call__(self, kept: Bools) -> Floats:
        keys = [bits.tobytes() for bits in np.packbits(kept, axis=1)]
        new = [index for index, key in enumerate(keys) if key not in self.cache]
        if new:
            self.cache.update(zip([keys[index] for index in new], self.predict(kept[new]), strict=True))
        return np.stack([self.cache[key] for key in keys])
