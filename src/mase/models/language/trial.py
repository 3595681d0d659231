"""Find out by a trial whether a language model is causal, and whether rows can continue from one cache."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from mase.errors import CapabilityError, MaseError
from mase.models.language.forward import Forward

__all__ = ["continues"]

# The trial reads two short sequences of one beginning, and compares the log-probabilities after their last tokens.
_BEGINNING, _LENGTH, _READ = 12, 24, 4
# The largest mean difference that is rounding, with weights of 32 bits and of 16. SmolLM2 has 1e-5 and 0.14; a wrong
# token or position changes it by 0.2 to 1.
_EXACT, _ROUGH = 1e-4, 0.5


def continues(forward: Forward, sequence: Sequence[int]) -> bool:
    """Return whether several rows of several tokens can continue from one cache, on short pieces of valid ids.

    The model runs in its own precision.

    Raises
    ------
    CapabilityError
        If tokens at the end of a row change what the model says before them.
    """
    forward = replace(forward, half=None)
    ids = (list(sequence) * _LENGTH)[:_LENGTH]
    other = [*ids[:_BEGINNING], *ids[: -_BEGINNING - _READ][::-1]]  # shorter, and with other tokens
    with forward.running():
        alone = [_ends(forward, [row]) for row in (ids, other)]
        expected, agree = torch.cat(alone), partial(_agree, _ROUGH if _is_rough(forward) else _EXACT)
        if not agree(expected, _ends(forward, [ids, other])):
            raise CapabilityError(
                f"{type(forward.module).__name__} reads tokens ahead: those after a token change the probabilities "
                "before it, expected a causal language model, as AutoModelForCausalLM loads it; of a model such as "
                "BERT, the configuration says is_decoder=True"
            )
        try:
            return agree(expected, _continued(forward, [ids, other]))
        except MaseError:  # the model takes no cache, or not in this way
            return False


def _ends(forward: Forward, rows: list[list[int]]) -> torch.Tensor:
    """Return the log-probabilities `(m, vocabulary)` after the last tokens of all rows, read as one batch."""
    logits, _ = forward(rows, _last(rows))
    return logits.float().log_softmax(dim=-1)


def _continued(forward: Forward, rows: list[list[int]]) -> torch.Tensor | None:
    """Return the same, where the common beginning is read once; None if the model keeps nothing of it."""
    _, cache = forward([rows[0][:_BEGINNING]], [], keep=True)
    if cache is None:
        return None
    rests = [row[_BEGINNING:] for row in rows]
    logits, _ = forward(rests, _last(rests), cache.copies(len(rows)))
    return logits.float().log_softmax(dim=-1)


def _last(rows: Sequence[Sequence[int]]) -> list[int]:
    width = max(map(len, rows))
    return [width * index + at for index, row in enumerate(rows) for at in range(len(row) - _READ, len(row))]


def _agree(tolerance: float, expected: torch.Tensor, found: torch.Tensor | None) -> bool:
    return found is not None and bool((expected - found).abs().mean() <= tolerance)


def _is_rough(forward: Forward) -> bool:
    types = (weight.dtype for weight in forward.module.parameters() if weight.is_floating_point())
    return next(types, torch.float32).itemsize < torch.float32.itemsize
