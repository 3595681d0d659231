"""Find out by a trial whether a language model is causal, and what its cache is good for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from mase.errors import CapabilityError, MaseError, NonFiniteError
from mase.models.language.forward import Cache, Forward

__all__ = ["Caching", "caching"]

# The trial reads two short sequences of one beginning, and compares the log-probabilities after their last tokens.
_BEGINNING, _LENGTH, _READ = 12, 24, 4
# The largest mean difference that is rounding, with weights of 32 bits and of 16. SmolLM2 has 1e-5 and 0.14; a wrong
# token or position changes it by 0.2 to 1.
_EXACT, _ROUGH = 1e-4, 0.5


@dataclass(frozen=True, slots=True)
class Caching:
    """What a cache is good for.

    Attributes
    ----------
    continues
        Whether several rows of several tokens can continue from one cache.
    shortens
        Whether they can continue from a cache of which the last tokens are left out.
    """

    continues: bool
    shortens: bool


def caching(forward: Forward, sequence: Sequence[int]) -> Caching:
    """Return what a cache is good for, on short pieces of valid ids.

    The model runs in its own precision.

    Raises
    ------
    CapabilityError
        If tokens at the end of a row change what the model says before them.
    NonFiniteError
        If the model returns NaN.
    """
    forward = replace(forward, half=None)
    ids = (list(sequence) * _LENGTH)[:_LENGTH]
    other = [*ids[:_BEGINNING], *ids[: -_BEGINNING - _READ][::-1]]  # shorter, and with other tokens
    with forward.running():
        first, cache = _ends(forward, [ids], keep=True)
        expected = torch.cat([first, _ends(forward, [other])[0]])
        if bool(expected.isnan().any()):
            raise NonFiniteError(
                f"{type(forward.module).__name__} returned NaN for a part of the prompt, expected probabilities; if it "
                "overflows in 16 bits, load it with dtype=torch.float32"
            )
        agree = partial(_agree, expected, _ROUGH if forward.rounds else _EXACT)
        if not agree(_ends(forward, [ids, other])[0]):
            raise CapabilityError(
                f"{type(forward.module).__name__} reads tokens ahead: those after a token change the probabilities "
                "before it, expected a causal language model, as AutoModelForCausalLM loads it; of a model such as "
                "BERT, the configuration says is_decoder=True; of one that is quantized dynamically, load the "
                "weights as they were before"
            )
        continued = partial(_continued, forward, [ids[_BEGINNING:], other[_BEGINNING:]])
        shorter = None if cache is None else cache.without(_LENGTH - _BEGINNING)
        if shorter is not None and agree(continued(shorter)):
            return Caching(continues=True, shortens=True)
        _, cache = _ends(forward, [ids[:_BEGINNING]], keep=True)
        return Caching(continues=cache is not None and agree(continued(cache)), shortens=False)


def _ends(forward: Forward, rows: list[list[int]], *, keep: bool = False) -> tuple[torch.Tensor, Cache | None]:
    """Return the log-probabilities `(m, vocabulary)` after the last tokens of all rows, read as one batch."""
    logits, cache = forward(rows, _last(rows), keep=keep)
    return logits.float().log_softmax(dim=-1), cache


def _continued(forward: Forward, rests: list[list[int]], cache: Cache) -> torch.Tensor | None:
    """Return the same, of rows that continue from one cache; None if the model takes none, or not in this way."""
    try:
        logits, _ = forward(rests, _last(rests), cache.copies(len(rests)))
    except MaseError:
        return None
    return logits.float().log_softmax(dim=-1)


def _last(rows: Sequence[Sequence[int]]) -> list[int]:
    width = max(map(len, rows))
    return [width * index + at for index, row in enumerate(rows) for at in range(len(row) - _READ, len(row))]


def _agree(expected: torch.Tensor, tolerance: float, found: torch.Tensor | None) -> bool:
    if found is None:
        return False
    apart = (expected - found).abs().masked_fill(expected == found, 0.0)  # both minus infinity: it is never written
    return bool(apart.mean() <= tolerance)
