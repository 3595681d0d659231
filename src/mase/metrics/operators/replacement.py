"""Replacement: a reference replaces each token of a masked word."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from mase.arrays import Bools, Floats
from mase.errors import CapabilityError
from mase.links import probabilities
from mase.metrics.masking import Masker
from mase.models.batching import ask, check_start
from mase.models.protocol import Binding, Model, Probe
from mase.spaces.token_mask import TokenMask
from mase.text import Tokens, Words

__all__ = ["MASK", "PAD", "UNK", "ZERO", "Replacement", "bound", "replaced"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replaces each token of a masked word by a reference: the embedding of a token, or the zero vector."""

    reference: str

    def bind(self, model: Model, tokens: Tokens, words: Words) -> Masker:
        """Return the masker of one text.

        Raises
        ------
        CapabilityError
            If the model does not have the reference.
        """
        probe = bound(model, tokens, words, self.reference)
        text_probabilities = probabilities(check_start(probe.start), probe.output)[0]
        return Masker(words, self.reference, text_probabilities, partial(replaced, probe), probe.output.multilabel)


MASK, UNK, PAD, ZERO = (Replacement(reference) for reference in ("mask", "unk", "pad", "zero"))


def replaced(probe: Probe, kept: Bools) -> Floats:
    """Return class probabilities `(n, k)` for rows of kept words `(n, w)`."""
    return probabilities(ask(probe, kept.astype(np.float64)), probe.output)


def bound(model: Model, tokens: Tokens, words: Words, reference: str) -> Probe:
    """Return the probe with one coordinate per word: 1 keeps the word, 0 replaces it by the reference.

    Raises
    ------
    CapabilityError
        If the model does not have the reference.
    """
    if reference not in model.references:
        known = ", ".join(dict.fromkeys([*model.references, "delete"]))
        raise CapabilityError(f"operator is {reference!r}, expected one that {model.name} has: {known}")
    return model.bind(Binding.of(tokens, TokenMask(reference), words.of_token))
