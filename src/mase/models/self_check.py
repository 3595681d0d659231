"""A check of a torch module: does it read the words at the layer where they are perturbed, and only there?

The ids of a text with other tokens are one way to ask a module about changed words, and perturbed vectors are another.
Both have to give the same scores.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch import nn

from mase.errors import CapabilityError, ModelError
from mase.models.engine import Engine

__all__ = ["check_layer"]

# Scores may differ by this share of what the tokens change, and by the rounding of the data type.
_SHARE = 0.02
_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4}
_COARSE = 0.02
# The layers and reference tokens with which each module has been checked.
_CHECKED: "WeakKeyDictionary[nn.Module, set[tuple[str, int | None]]]" = WeakKeyDictionary()
_ADVICE = "use another layer or reference, or wrap it: mase.models.Callable(lambda texts: ..., labels=[...])"


def check_layer(engine: Engine, ids: torch.Tensor, movable: torch.Tensor, reference_id: int | None) -> None:
    """Check that a module reads the movable tokens of a text at the layer of the engine, and nowhere else.

    A module is checked once with each reference, on the first text with several movable tokens that it can be checked
    with. One that draws random numbers cannot be checked. A module that is refused is asked again each time.

    Parameters
    ----------
    engine
        How to run the module.
    ids, movable
        The ids `(1, t)`, and whether each of the tokens may be masked `(t,)`.
    reference_id
        The token that masks others; None for another token of the text.

    Raises
    ------
    CapabilityError
        If the vectors of tokens depend on other tokens, or their places do, or the module also reads the ids elsewhere.
    """
    checked, key = _CHECKED.setdefault(engine.module, set()), (engine.embedding, reference_id)
    if key in checked or int(movable.sum()) < 2:
        return
    rows = _rows(ids, movable, reference_id)
    try:
        vectors, expected, captured = engine.capture(rows)
        found = captured.forward_from(rows[:1].repeat(len(rows), 1), lambda: vectors)
    except ModelError:  # as for rows with other numbers of end tokens, of which some models want the same
        return
    first_half = (rows[2] == rows[1])[: vectors.shape[1], None]
    in_place = _near(vectors[2], torch.where(first_half, vectors[1], vectors[0]), vectors - vectors[:1])
    alone = _near(found, expected, expected - expected[:1])
    if (in_place and alone) or not torch.equal(expected, replace(engine, seed=engine.seed + 1).forward(rows)):
        checked.add(key)
        return
    if not in_place:
        raise CapabilityError(
            f"layer {engine.embedding!r} returns vectors that do not belong to the tokens one by one: the module puts "
            f"the tokens in another order before it embeds them, or mixes them there; {_ADVICE}"
        )
    raise CapabilityError(
        f"the module reads the tokens elsewhere, too, and not only by the layer {engine.embedding!r}: with other "
        f"tokens it returned {_told(expected)}, and with their vectors {_told(found)}; {_ADVICE}"
    )


def _rows(ids: torch.Tensor, movable: torch.Tensor, reference_id: int | None) -> torch.Tensor:
    """Return the text, the text with all movable tokens replaced, and with the first half of them replaced `(r, t)`."""
    places = movable.nonzero()[:, 0]
    other, half = ids.clone(), ids.clone()
    other[0, places] = ids[0, places].roll(1) if reference_id is None else reference_id
    half[0, places[: len(places) // 2]] = other[0, places[: len(places) // 2]]
    rows = torch.cat([ids, other, half])
    return torch.cat([rows, ids]) if len(rows) == ids.shape[1] else rows  # `capture` wants other numbers of both


def _near(found: torch.Tensor, expected: torch.Tensor, changes: torch.Tensor) -> bool:
    """Return whether values are the expected ones, up to a share of what the tokens change, and rounding.

    An infinite value, such as the logit of a class that is ruled out, has to be the same.
    """
    allowed = _SHARE * _largest(changes) + _ROUNDING.get(expected.dtype, _COARSE) * max(_largest(expected), 1.0)
    apart = torch.where(found == expected, 0.0, (found.float() - expected.float()).abs())
    return bool((apart <= allowed).all())


def _largest(values: torch.Tensor) -> float:
    """Return the largest absolute value that is finite; 0 if there is none."""
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if len(finite) else 0.0


def _told(scores: torch.Tensor) -> str:
    return ", ".join(f"{value:.4g}" for value in scores[1].flatten()[:3].tolist())
