"""Deletion: masked words are removed, so that the text becomes shorter."""

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
from mase.models.optional import TokenModel
from mase.models.protocol import Model
from mase.text import Tokens, Words

__all__ = ["DELETE", "Deletion"]


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
        if not isinstance(model, TokenModel):
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
    assert isinstance(model, TokenModel)
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
    return np.asarray(replaced(probe, np.zeros((1, 1), dtype=np.bool_))[0])
