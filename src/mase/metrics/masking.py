"""Masking: words of a text taken out by one operator, and what the model says then."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mase.arrays import Bools, Floats
from mase.errors import EmptyTextError, ShapeError
from mase.metrics.operators import OPERATORS, Operator, check_operator
from mase.models.protocol import Model
from mase.rng import untouched
from mase.text import Tokens, Words, group_words

__all__ = ["Answers", "Masker", "MaskingOperator", "masker", "remembering"]


class Answers(Protocol):
    """What a model says to rows of words kept."""

    def __call__(self, kept: Bools) -> Floats:
        """Return class probabilities `(n, k)` for n rows of words kept `(n, w)`."""
        ...


@dataclass(frozen=True, slots=True)
class Masker:
    """One model bound to one text, whose words can be taken out by one operator.

    Attributes
    ----------
    words
        The w words that the model reads. Special tokens and padding belong to none and stay.
    operator
        How a word is taken out; never "auto".
    whole
        `(k,)`: class probabilities of the text itself.
    answers
        What the model says to rows of words kept.
    multilabel
        Whether the k classes are separate questions, not one choice among k.
    """

    words: Words
    operator: str
    whole: Floats
    answers: Answers
    multilabel: bool = False

    @property
    def target(self) -> int:
        """The class that the model predicts for the text itself; of separate questions the one it is surest to affirm."""
        return int(np.argmax(self.whole))

    def flipped(self, probabilities: Floats, target: int) -> Bools:
        """Return whether a model with class probabilities `(n, k)` no longer predicts `target` `(n,)`.

        Of one choice: another class is the likeliest (of equally likely ones the first counts). Of separate questions:
        the target's own probability is below 0.5; what the model says to the other questions does not matter.
        """
        return np.asarray(probabilities[:, target] < 0.5 if self.multilabel else probabilities.argmax(axis=1) != target)

    def probabilities(self, kept: Bools) -> Floats:
        """Return class probabilities `(n, k)` with the words kept that `kept` `(n, w)` says, each distinct row asked once.

        Raises
        ------
        ShapeError
            If `kept` is not a boolean array `(n, w)`.
        ModelError
            If the model raises or answers with something else than finite class scores.
        """
        rows = np.asarray(kept)
        if rows.dtype != np.bool_ or rows.ndim != 2 or rows.shape[1] != len(self.words):
            raise ShapeError(
                f"kept is {rows.dtype} of shape {rows.shape}, expected booleans of shape (n, {len(self.words)})"
            )
        if not len(rows):
            return np.empty((0, len(self.whole)))
        distinct, back = np.unique(rows, axis=0, return_inverse=True)
        with untouched():
            return self.answers(distinct)[back.reshape(-1)]


class MaskingOperator(Protocol):
    """One way to take words out of a text."""

    def bind(self, model: Model, tokens: Tokens, words: Words) -> Masker:
        """Return the masker of one text, whose tokens and words are given.

        Raises
        ------
        CapabilityError
            If the model cannot have words taken out so.
        """
        ...


def masker(model: Model, text: str, operator: Operator = "auto") -> Masker:
    """Return the masker of one text.

    Parameters
    ----------
    model
        An adapter from `mase.models`.
    text
        The text; words that the model cuts off are none of its words here.
    operator
        What takes a word's place: the model's "mask", "unk" or "pad" token (in each of the word's tokens), the "zero"
        vector, or nothing ("delete"). "auto" is the first reference of the model: its mask token, else its unknown
        token, else padding, else zero; for a function of texts its mask token, else "delete".

    Notes
    -----
    A token takes a word's place as its embedding in each of the word's places. A module that also looks at the ids sees
    those of the text: to the bundled LSTMs, which do not read padding at the end, "pad" is a vector that is read.

    "delete" shortens the sequence of tokens that the model reads. A text that was cut is not cut anew: nothing moves in
    from beyond the window. If no token is left at all, the model is asked about a single token that stands for absence
    (mask, unk, pad, or the zero vector, the first that it has); transformers never come to that, they keep their
    special tokens. For a function of texts "delete" takes the words out of the string, which may leave it empty;
    letters that they separated stay apart (see `mase.models.rewriting`).

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
        words = group_words(tokens)
        if not len(words):
            raise EmptyTextError(
                f"text {text[:40]!r} has only special tokens for the model, expected at least one word"
            )
        return chosen.bind(model, tokens, words)


def remembering(masker: Masker) -> Masker:
    """Return the masker of the same text, which asks the model only about words taken out that it was not asked about yet.

    Metrics, and methods of one text, ask about many of the same rows. It keeps all answers for as long as it lives.
    """
    return replace(masker, answers=_Memory(masker.answers, {}))


@dataclass(frozen=True, slots=True)
class _Memory:
    """Answers `(k,)` by the bits of the words kept."""

    answers: Answers
    known: dict[bytes, Floats]

    def __call__(self, kept: Bools) -> Floats:
        keys = [bits.tobytes() for bits in np.packbits(kept, axis=1)]
        new = [index for index, key in enumerate(keys) if key not in self.known]
        if new:
            self.known.update(zip([keys[index] for index in new], self.answers(kept[new]), strict=True))
        return np.stack([self.known[key] for key in keys])
