"""Where a module has the tokens of a text when it embeds them: once or several times, shifted, padded, or time first.

A decoder reads the words one position later than its encoder, Longformer pads its input to whole windows, and XLNet
works with the time as its first axis. A *reading* says where the tokens are, so that all places of a word are perturbed
alike and the module reads the original word nowhere.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import nn

from mase.errors import CapabilityError

__all__ = ["Pass", "Place", "Reading", "Run", "matrices", "readings", "weights_of"]

# The remedy for a model without a suitable layer.
_WRAP = "wrap its probabilities: mase.models.Callable(lambda texts: ..., labels=[...])"

# Computes the replacement `(b, t, d)` for the vectors of the tokens; called when a forward pass reaches the layer.
Place = Callable[[], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a layer: its name, the matrices of integers that it was given, and its output."""

    layer: str
    ids: tuple[torch.Tensor, ...]
    output: Any


@dataclass(frozen=True, slots=True)
class Reading:
    """Where one run of a layer has the t tokens of a text: token i is at position `offset` + i of `length`.

    The other positions are the module's own, such as padding or the start token of a decoder, and are equal in all
    rows; all of them are if `offset` is `length`. A token beyond the last position is not read. With `time_first` the
    output is `(length, b, d)`.
    """

    layer: str
    length: int
    offset: int = 0
    time_first: bool = False

    def vectors(self, output: torch.Tensor, n_tokens: int) -> torch.Tensor:
        """Return the vectors `(b, at most t, d)` of the tokens in the output of this run."""
        return self._batch_first(output)[:, self.offset : self.offset + n_tokens]

    def placed(self, vectors: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return the output of this run with the vectors `(b, t, d)` of the tokens; one row of `output` is enough."""
        n_read = min(vectors.shape[1], self.length - self.offset)
        whole = vectors
        if n_read < self.length:
            own = self._batch_first(output)[:1].to(vectors.dtype)
            before, after = own[:, : self.offset], own[:, self.offset + n_read : self.length]
            rows = (len(vectors), -1, -1)
            whole = torch.cat([before.expand(rows), vectors[:, :n_read], after.expand(rows)], dim=1)
        return whole.transpose(0, 1).contiguous() if self.time_first else whole

    def _batch_first(self, output: torch.Tensor) -> torch.Tensor:
        return output.transpose(0, 1) if self.time_first else output


@dataclass(slots=True)
class Pass:
    """One forward pass whose layer has its output replaced in every run; `shape` `(b, t)` is that of the ids."""

    readings: tuple[Reading, ...]
    shape: torch.Size
    place: Place
    n_runs: int = 0
    vectors: list[torch.Tensor] = field(default_factory=list)

    def placed(self, output: Any) -> Any:
        """Return the replacement for the output of the next run."""
        self.n_runs += 1
        if self.n_runs > len(self.readings):
            return output  # and `check` raises
        self.vectors = self.vectors or [self.place()]
        # The module may write to what it gets.
        vectors = self.vectors[0] if len(self.readings) == 1 else self.vectors[0].clone()
        return self.readings[self.n_runs - 1].placed(vectors, output)

    def check(self, layer: str) -> None:
        """Raise CapabilityError if the layer has not run as often as for the text itself."""
        if self.n_runs != len(self.readings):
            raise CapabilityError(
                f"layer {layer!r} ran {self.n_runs} times in a forward pass, expected {len(self.readings)} as for the "
                "text itself; a compiled module ignores a replaced layer output, pass the one before compilation"
            )


def readings(
    layer: str, runs: Sequence[Run], others: Sequence[Run], ids: torch.Tensor
) -> tuple[torch.Tensor, tuple[Reading, ...]]:
    """Return the vectors `(b, t, d)` of the ids `(b, t)` in a forward pass, and the reading of each run.

    Parameters
    ----------
    layer
        Dotted name of the layer.
    runs
        All runs of the layer, and of other embeddings with its weights.
    others
        All runs of other embeddings that are as large.
    ids
        The ids of the tokens; b must differ from t.

    Raises
    ------
    CapabilityError
        If the words cannot be perturbed at this layer, or the module reads them elsewhere too.
    """
    twin = next((run.layer for run in others if _reading(run, ids) is not None), None)
    if twin is not None:
        raise CapabilityError(
            f"the words are also embedded by {twin!r}, with other weights than by {layer!r}: the module would read the "
            f"original words besides the perturbed ones, expected one table of word vectors; {_WRAP}"
        )
    if len(runs) == 1 and _is_output(runs[0].output, ids.shape):
        return runs[0].output, (Reading(runs[0].layer, ids.shape[1]),)
    found = [_reading(run, ids) or _own(run, ids) for run in runs]
    if len(runs) == 1 and found[0] is None:
        raise CapabilityError(
            f"layer {layer!r} returned {_described(runs[0].output, ids.shape)}, expected a tensor "
            f"({len(ids)}, {ids.shape[1]}, d): batch first, one vector per token; {_WRAP}"
        )
    known = [reading for reading in found if reading is not None]
    whole = next((index for index, one in enumerate(known) if one.length - one.offset >= ids.shape[1]), None)
    if whole is None or len(known) < len(runs):
        raise CapabilityError(
            f"layer {layer!r} ran {len(runs)} times in one forward pass, expected once, or each time with all tokens "
            f"in their order; name the layer that embeds the tokens (TorchModule: embedding=..., HuggingFace: "
            f"enter=...), or {_WRAP}"
        )
    vectors = known[whole].vectors(runs[whole].output, ids.shape[1])
    for run, reading in zip(runs, known, strict=True):
        read = reading.vectors(run.output, ids.shape[1])
        if read.shape[2] != vectors.shape[2] or not torch.equal(read, vectors[:, : read.shape[1]]):
            raise CapabilityError(
                f"the words are also embedded by {run.layer!r}, with the weights of {layer!r} but to other vectors: "
                "the module would read the original words besides the perturbed ones, expected one vector per word; "
                f"{_WRAP}"
            )
    return vectors, tuple(known)


def weights_of(layer: nn.Embedding) -> object:
    """Return what is the same for layers that share their weights.

    Offloaded weights are nowhere in memory: those of one shape may be the same, and `readings` compares their vectors.
    """
    return layer.weight.shape if layer.weight.is_meta else layer.weight.data_ptr()


def _reading(run: Run, ids: torch.Tensor) -> Reading | None:
    """Return how a run has read the ids `(b, t)`; None if it has not read them in any known way."""
    n_rows, n_tokens = ids.shape
    for given, time_first, offset in product(run.ids, (False, True), (0, 1)):
        seen = given.T if time_first else given
        length = seen.shape[1]
        if len(seen) != n_rows or length < n_tokens or not _is_output(run.output, given.shape):
            continue
        read = seen[:, offset : offset + n_tokens]
        own = [seen[:, :offset], seen[:, offset + n_tokens :]]
        if torch.equal(read, ids[:, : read.shape[1]]) and all(torch.equal(one, one[:1].expand_as(one)) for one in own):
            return Reading(run.layer, length, offset, time_first)
    return None


def _own(run: Run, ids: torch.Tensor) -> Reading | None:
    """Return the reading of a run that has none of the tokens but something of the module's own, such as their types.

    It is equal in all rows.
    """
    for given in run.ids:
        equal = len(given) == len(ids) and torch.equal(given, given[:1].expand_as(given))
        if equal and _is_output(run.output, given.shape):
            return Reading(run.layer, given.shape[1], given.shape[1])
    return None


def _is_output(output: Any, shape: torch.Size) -> bool:
    return isinstance(output, torch.Tensor) and output.ndim == 3 and output.shape[:2] == shape


def matrices(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """Yield copies of the matrices of integers among the arguments of a layer."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor) and value.ndim == 2 and not value.is_floating_point():
            yield value.clone()


def _described(output: Any, shape: torch.Size) -> str:
    """Return the type or shape of an output, with the probable reason why it is wrong."""
    if not isinstance(output, torch.Tensor):
        return type(output).__name__
    if output.ndim == 3 and tuple(output.shape[:2]) == (shape[1], shape[0]):
        return f"{tuple(output.shape)} (time first)"
    shortened = output.ndim == 3 and len(output) == shape[0]
    return f"{tuple(output.shape)}{' (the module pads or shortens its input)' if shortened else ''}"
