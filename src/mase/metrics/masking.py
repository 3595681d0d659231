"""Mask the words of a text in an order, and ask the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.defaults import check_integer, is_real
from mase.document import Input
from mase.errors import CapabilityError, EmptyTextError, NonFiniteError, OptionError, ShapeError
from mase.metrics import OPERATORS, Operator, check_operator
from mase.models.base import Binding, Model, Probe, probe_of
from mase.models.batching import ask, check_start
from mase.responses import probabilities
from mase.rng import untouched
from mase.solve.determinism import RESPONSE_ROUNDING
from mase.spaces import TokenMask
from mase.text import Tokens, Words
from mase.units import DEFAULT, Units, splitter
from mase.units.splitters import group

# From rows of kept words `(n, w)` to class probabilities `(n, k)`.
PredictMasked = Callable[[Bools], Floats]


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

        In single-label classification, another class is the most probable one, or none is named, as by a chat model.
        Of equally probable classes the first counts. In multi-label classification, the probability of the target is
        below 0.5; other classes do not matter.
        """
        if self.multilabel:
            return np.asarray(probabilities[:, target] < 0.5)
        return np.asarray((probabilities.argmax(axis=1) != target) | ~probabilities.any(axis=1))

    def probabilities(self, kept: Bools) -> Floats:
        """Return class probabilities `(n, k)` for rows of kept words `(n, w)`; equal rows are evaluated once."""
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
        """Return the masker of the text with these tokens and words."""
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
    around a removed word are not joined (see `mase.models.function`).

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


def without_top(order: Ints, ks: Sequence[int]) -> Bools:
    """Return which words are kept `(len(ks), w)` when the first k of `order` `(w,)` are masked; k is capped by w.

    Examples
    --------
    >>> from mase.attribution import ranking
    >>> without_top(ranking([0.1, -2.0, 0.5]), [0, 1, 9]).tolist()
    [[True, True, True], [True, True, False], [False, False, False]]
    """
    rank = np.empty(len(check_order(order)), dtype=np.int64)
    rank[order] = np.arange(len(rank))
    return np.asarray(rank >= np.array(check_ks(ks), dtype=np.int64).reshape(-1, 1))


def check_ks(ks: Sequence[int]) -> tuple[int, ...]:
    """Return `ks` as integers."""
    _check_sequence("ks", ks, (1, 5, 10))
    return tuple(check_integer("k, the number of words to mask,", k, 0) for k in ks)


def check_order(order: Ints) -> Ints:
    """Return `order` `(w,)` as an array, after a check that it is a permutation of the indices 0 to w - 1."""
    indices = np.asarray(order)
    if indices.ndim != 1 or not np.array_equal(np.sort(indices), np.arange(len(indices))):
        raise ShapeError(
            f"order of shape {indices.shape} is not a permutation, expected each of the indices 0 to w - 1 once"
        )
    return indices


def check_shares(shares: Sequence[float]) -> None:
    """Check that there are shares, each above 0 and up to 1."""
    _check_sequence("shares", shares, (0.1, 0.2))
    if not len(shares):
        raise OptionError(f"shares is {shares!r}, expected at least one number above 0 and up to 1")
    for share in shares:
        if not is_real(share) or not 0 < share <= 1:
            raise OptionError(f"share is {share!r:.60}, expected a number above 0 and up to 1")


def share_counts(n_words: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Return each share of `n_words` as a number of words, rounded up so that it is at least one word.

    Examples
    --------
    >>> share_counts(30, (0.01, 0.1, 0.5))
    (1, 3, 15)
    """
    check_shares(shares)
    # Round to 10 decimals first: 0.07 * 100 is 7.000000000000001 in floating point, but must give 7 words.
    return tuple(max(1, int(np.ceil(round(n_words * share, 10)))) for share in shares)


def _check_sequence(name: str, given: object, example: tuple[float, ...]) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise OptionError(f"{name} is {given!r:.60}, expected a sequence of numbers, as in {example}")


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replaces each token of a masked word by a reference: the embedding of a token, or the zero vector."""

    reference: str

    def bind(self, model: Model, tokens: Tokens, words: Words) -> Masker:
        """Return the masker of one text."""
        probe = bound(model, tokens, words, self.reference)
        text_probabilities = probabilities(check_start(probe.start), probe.output)[0]
        return Masker(words, self.reference, text_probabilities, _Replaced(probe), probe.output.multilabel)


MASK, UNK, PAD, ZERO = (Replacement(reference) for reference in ("mask", "unk", "pad", "zero"))


@dataclass(slots=True)
class _Replaced:
    """Returns class probabilities `(n, k)` for rows of kept words `(n, w)`.

    A function whose answers depend on the other rows of a batch is asked one row at a time. Two rows of the first batch
    are asked alone to find out.
    """

    probe: Probe
    batch_size: int | None = None
    compared: bool = False

    def __call__(self, kept: Bools) -> Floats:
        rows = kept.astype(np.float64)
        scores = ask(self.probe, rows, self.batch_size)
        if not self.compared and len(rows) > 1:
            self.compared = True
            if self._depends_on_the_batch(rows, scores):
                self.batch_size = 1
                scores = ask(self.probe, rows, 1)
        return probabilities(scores, self.probe.output)

    def _depends_on_the_batch(self, rows: Floats, scores: Floats) -> bool:
        """Return whether rows have other scores alone, and together the same as before."""
        if self.probe.varies is not None or self.probe.answers_only:
            return False
        rounding, ends = RESPONSE_ROUNDING * float(np.abs(scores).max()), [0, -1]
        if np.abs(ask(self.probe, rows[ends], 1) - scores[ends]).max() <= rounding:
            return False
        return bool(np.abs(ask(self.probe, rows) - scores).max() <= rounding)


def bound(model: Model, tokens: Tokens, words: Words, reference: str) -> Probe:
    """Return the probe with one coordinate per word: 1 keeps the word, 0 replaces it by the reference."""
    if reference not in model.references:
        known = ", ".join(dict.fromkeys([*model.references, "delete"]))
        raise CapabilityError(f"operator is {reference!r}, expected one that {model.name} has: {known}")
    return probe_of(model, Binding.of(tokens, TokenMask(reference), words.of_token))


@dataclass(frozen=True, slots=True)
class Deletion:
    """Removes the tokens of masked words; a function of texts reads the text without these words."""

    def bind(self, model: Model, tokens: Tokens, words: Words) -> Masker:
        """Return the masker of one text.

        Raises
        ------
        CapabilityError
            If the model cannot predict tokens.
        """
        if "delete" in model.references:
            return Replacement("delete").bind(model, tokens, words)
        if not model.accepts_tokens:
            raise CapabilityError(
                f"operator is 'delete', which {model.name} cannot do (it has no predict_tokens), "
                f"expected one of {', '.join(model.references)}"
            )
        predict = partial(_deleted, model, tokens, np.array(words.of_token, dtype=np.int64))
        probe = bound(model, tokens, words, model.references[0])  # says whether outputs are logits or probabilities
        text_probabilities = probabilities(check_start(probe.start), probe.output)[0]
        return Masker(words, "delete", text_probabilities, predict, probe.output.multilabel)


DELETE = Deletion()


def _deleted(model: Model, tokens: Tokens, of_token: Ints, kept: Bools) -> Floats:
    """Return class probabilities `(n, k)` without the tokens of the masked words."""
    shortened = [_only(tokens, np.flatnonzero((of_token < 0) | row[of_token])) for row in kept]
    non_empty = [index for index, rest in enumerate(shortened) if len(rest)]
    predicted = model.predict_tokens([shortened[index] for index in non_empty])
    if not np.isfinite(predicted).all():
        raise NonFiniteError(
            f"{model.name} returned numbers that are not finite when words were deleted, expected finite class scores; "
            "choose an operator that keeps the length of the text"
        )
    rows = dict(zip(non_empty, predicted, strict=True))
    empty = _absent(model, tokens) if len(non_empty) < len(kept) else np.empty(0)
    return np.stack([rows.get(index, empty) for index in range(len(kept))])


def _only(tokens: Tokens, indices: Sequence[int] | Ints) -> Tokens:
    """Return the tokens with these indices."""
    rows = [(tokens.ids[i], tokens.pieces[i], tokens.spans[i], tokens.fixed[i]) for i in indices]
    ids, pieces, spans, fixed = zip(*rows, strict=True) if rows else ((), (), (), ())
    types = tokens.types and tuple(tokens.types[i] for i in indices)
    return replace(tokens, ids=ids, pieces=pieces, spans=spans, fixed=fixed, types=types)


def _absent(model: Model, tokens: Tokens) -> Floats:
    """Return class probabilities `(k,)` of a single reference token."""
    first = _only(tokens, [0])
    probe = bound(model, first, Words(((0, 0),), (0,)), model.references[0])
    return np.asarray(_Replaced(probe)(np.zeros((1, 1), dtype=np.bool_))[0])
