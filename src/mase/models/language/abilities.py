"""Find out by a trial whether rows of a language model can be padded, and whether its cache can be shared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from mase.errors import MaseError
from mase.models.language.forward import Forward

__all__ = ["Abilities", "tried"]

# The trial reads two short sequences of one beginning, and compares the probabilities after their last tokens.
_BEGINNING, _LENGTH, _READ = 12, 24, 4
# The largest difference of log-probabilities that rounding may cause, with weights of 32 bits and of 16.
_EXACT, _ROUGH = 1e-3, 1.5


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model supports.

    Attributes
    ----------
    pads
        Whether tokens at the end of a row leave those before them as they are.
    continues
        Whether what the model keeps of a beginning can be continued by several tokens in several rows.
    """

    pads: bool
    continues: bool


def tried(forward: Forward, sequence: Sequence[int]) -> Abilities:
    """Return what a model supports, as a trial on short pieces of a sequence of valid ids shows.

    The model runs in its own precision.
    """
    forward = replace(forward, half=None)
    with forward.running():
        return _tried(forward, sequence)


def _tried(forward: Forward, sequence: Sequence[int]) -> Abilities:
    ids = (list(sequence) * _LENGTH)[:_LENGTH]
    other = [*ids[:_BEGINNING], *ids[: -_BEGINNING - _READ][::-1]]  # shorter, and with other tokens
    pair = [ids, other]
    alone = [_ends(forward, [one])[0] for one in pair]
    tolerance = _EXACT if _precise(forward) else _ROUGH

    def agree(read: Callable[[Forward, list[list[int]]], list[torch.Tensor]]) -> bool:
        try:
            found = read(forward, pair)
        except MaseError:  # the model takes no cache, or not in this way
            return False
        return all(bool((one - two).abs().max() <= tolerance) for one, two in zip(alone, found, strict=True))

    return Abilities(pads=agree(_ends), continues=agree(_continued))


def _ends(forward: Forward, rows: list[list[int]]) -> list[torch.Tensor]:
    """Return the log-probabilities `(r, vocabulary)` after the last r tokens of each row, read as one batch."""
    width = max(map(len, rows))
    logits, _ = forward(rows, [width * index + at for index, row in enumerate(rows) for at in _last(row)])
    return list(torch.split(logits.float().log_softmax(dim=-1), _READ))


def _continued(forward: Forward, rows: list[list[int]]) -> list[torch.Tensor]:
    """Return the same, where the common beginning is read once."""
    _, cache = forward([rows[0][:_BEGINNING]], [], keep=True)
    if cache is None:
        return [torch.full((1,), torch.nan)] * len(rows)
    rests = [row[_BEGINNING:] for row in rows]
    width = max(map(len, rests))
    positions = [width * index + at for index, rest in enumerate(rests) for at in _last(rest)]
    logits, _ = forward(rests, positions, cache.copies(len(rows)))
    return list(torch.split(logits.float().log_softmax(dim=-1), _READ))


def _last(row: Sequence[int]) -> range:
    return range(len(row) - _READ, len(row))


def _precise(forward: Forward) -> bool:
    floats = (weight.dtype for weight in forward.module.parameters() if weight.is_floating_point())
    return next(floats, torch.float32).itemsize >= torch.float32.itemsize
