"""Masking: words of a text taken out by one operator, and what the model says then."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, get_args

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.errors import CapabilityError, EmptyTextError, NonFiniteError, OptionError, ShapeError
from mase.links import probabilities
from mase.models.batching import ask, check_start
from mase.models.protocol import Binding, Model, Probe, TokenModel
from mase.rng import untouched
from mase.spaces.token_mask import TokenMask
from mase.text import Tokens, Words, group_words

__all__ = ["Masker", "Operator", "masker", "operators", "remembering"]

Operator = Literal["auto", "mask", "unk", "pad", "zero", "delete"]


class _Answers(Protocol):
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
    operator: Operator
    whole: Floats
    answers: _Answers
    multilabel: bool = False

    @property
    def target(self) -> int:
        """The class that the model predicts for the text itself; of separate questions the one it is surest to affirm."""
        return int(np.argmax(self.whole))

    def flipped(self, chances: Floats, target: int) -> Bools:
        """Return whether a model with class probabilities `(n, k)` no longer predicts `target` `(n,)`.

        Of one choice: another class is the likeliest (of equally likely ones the first counts). Of separate questions:
        the target's own probability is below 0.5; what the model says to the other questions does not matter.
        """
        return np.asarray(chances[:, target] < 0.5 if self.multilabel else chances.argmax(axis=1) != target)

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


def operators() -> tuple[Operator, ...]:
    """Return the names of the masking operators."""
    return get_args(Operator)


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
    OptionError
        If there is no such operator.
    CapabilityError
        If the model does not have the token, or cannot predict tokens.
    EmptyTextError
        If the text has no word that the model reads.
    """
    if operator not in operators():
        raise OptionError(f"operator is {operator!r}, expected one of {', '.join(operators())}")
    chosen: Operator = operator
    if operator == "auto":
        chosen = next(name for name in operators() if name == model.references[0])
    with untouched():
        tokens = model.encode(text)
        words = group_words(tokens)
        if not len(words):
            raise EmptyTextError(
                f"text {text[:40]!r} has only special tokens for the model, expected at least one word"
            )
        if chosen == "delete" and "delete" not in model.references:
            return _deleting(model, tokens, words)
        return _replacing(model, tokens, words, chosen)


def remembering(masker: Masker) -> Masker:
    """Return the masker of the same text, which asks the model only about words taken out that it was not asked about yet.

    Metrics, and methods of one text, ask about many of the same rows. It keeps all answers for as long as it lives.
    """
    return replace(masker, answers=_Memory(masker.answers, {}))


@dataclass(frozen=True, slots=True)
class _Memory:
    """Answers `(k,)` by the bits of the words kept."""

    answers: _Answers
    known: dict[bytes, Floats]

    def __call__(self, kept: Bools) -> Floats:
        keys = [bits.tobytes() for bits in np.packbits(kept, axis=1)]
        new = [index for index, key in enumerate(keys) if key not in self.known]
        if new:
            self.known.update(zip([keys[index] for index in new], self.answers(kept[new]), strict=True))
        return np.stack([self.known[key] for key in keys])


def _replacing(model: Model, tokens: Tokens, words: Words, operator: Operator) -> Masker:
    probe = _probe(model, tokens, words, operator)
    whole = probabilities(check_start(probe.start), probe.output)[0]
    return Masker(words, operator, whole, partial(_replaced, probe), probe.output.multilabel)


def _replaced(probe: Probe, kept: Bools) -> Floats:
    return probabilities(ask(probe, kept.astype(np.float64)), probe.output)


def _probe(model: Model, tokens: Tokens, words: Words, reference: str) -> Probe:
    """Return the probe with one coordinate per word: 1 keeps it, 0 puts the reference in its place."""
    if reference not in model.references:
        raise CapabilityError(
            f"operator is {reference!r}, expected one that {model.name} has: {', '.join(model.references)}, or delete"
        )
    of_token: Ints = np.array(words.of_token, dtype=np.int64)
    return model.bind(Binding(tokens, TokenMask(reference), of_token, len(words), (0,), 0.0))


def _deleting(model: Model, tokens: Tokens, words: Words) -> Masker:
    if not isinstance(model, TokenModel):
        raise CapabilityError(
            f"operator is 'delete', which {model.name} cannot do (it has no predict_tokens), "
            f"expected one of {', '.join(model.references)}"
        )
    answers = partial(_deleted, model, tokens, np.array(words.of_token, dtype=np.int64))
    probe = _probe(model, tokens, words, model.references[0])  # knows what the model's numbers are
    whole = probabilities(check_start(probe.start), probe.output)[0]
    return Masker(words, "delete", whole, answers, probe.output.multilabel)


def _deleted(model: Model, tokens: Tokens, of_token: Ints, kept: Bools) -> Floats:
    """Return class probabilities `(n, k)` of the tokens without those of the words that are not kept."""
    assert isinstance(model, TokenModel)
    shortened = [_only(tokens, np.flatnonzero((of_token < 0) | row[of_token])) for row in kept]
    something = [index for index, left in enumerate(shortened) if len(left)]
    answers: list[Floats] = [np.empty(0)] * len(kept)
    found = model.predict_tokens([shortened[index] for index in something])
    if not np.isfinite(found).all():
        raise NonFiniteError(
            f"{model.name} answers with numbers that are not finite where words are deleted, expected finite class scores; "
            "another operator leaves the text its length"
        )
    for index, answer in zip(something, found, strict=True):
        answers[index] = answer
    if len(something) < len(kept):
        absent = _absent(model, tokens)
        answers = [answer if len(left) else absent for answer, left in zip(answers, shortened, strict=True)]
    return np.stack(answers)


def _only(tokens: Tokens, indices: Sequence[int] | Ints) -> Tokens:
    """Return the tokens with these indices."""
    rows = [(tokens.ids[i], tokens.pieces[i], tokens.spans[i], tokens.fixed[i]) for i in indices]
    ids, pieces, spans, fixed = zip(*rows, strict=True) if rows else ((), (), (), ())
    return replace(tokens, ids=ids, pieces=pieces, spans=spans, fixed=fixed)


def _absent(model: Model, tokens: Tokens) -> Floats:
    """Return class probabilities `(k,)` of a single token that stands for absence."""
    one = _only(tokens, [0])
    probe = _probe(model, one, Words(((0, 0),), (0,)), model.references[0])
    return np.asarray(_replaced(probe, np.zeros((1, 1), dtype=np.bool_))[0])
