"""Deletion: a word is taken out, and the text becomes shorter."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.errors import CapabilityError, NonFiniteError
from mase.links import probabilities
from mase.metrics.masking import Masker
from mase.metrics.operators.replacement import Replacement, bound, replaced
from mase.models.batching import check_start
from mase.models.protocol import Model, TokenModel
from mase.text import Tokens, Words

__all__ = ["DELETE", "Deletion"]


@dataclass(frozen=True, slots=True)
class Deletion:
    """The tokens of a word are not there; a black box reads the text without the word."""

    def bind(self, model: Model, tokens: Tokens, words: Words) -> Masker:
        """Return the masker of one text.

        Raises
        ------
        CapabilityError
            If the model cannot predict tokens.
        """
        if "delete" in model.references:
            return Replacement("delete").bind(model, tokens, words)
        if not isinstance(model, TokenModel):
            raise CapabilityError(
                f"operator is 'delete', which {model.name} cannot do (it has no predict_tokens), "
                f"expected one of {', '.join(model.references)}"
            )
        answers = partial(_deleted, model, tokens, np.array(words.of_token, dtype=np.int64))
        probe = bound(model, tokens, words, model.references[0])  # knows what the model's numbers are
        whole = probabilities(check_start(probe.start), probe.output)[0]
        return Masker(words, "delete", whole, answers, probe.output.multilabel)


DELETE = Deletion()


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
    probe = bound(model, one, Words(((0, 0),), (0,)), model.references[0])
    return np.asarray(replaced(probe, np.zeros((1, 1), dtype=np.bool_))[0])
