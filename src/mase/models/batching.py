"""Evaluate a probe in batches, with smaller batches when memory runs out, and check that the scores are finite."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.defaults import is_integer
from mase.errors import ModelError, NonFiniteError, OptionError
from mase.models.base import Probe

R = TypeVar("R", Floats, Ints)
T = TypeVar("T")


class Watch:
    """Is told what becomes of the batches. This one takes no notice."""

    __slots__ = ()

    def asked(self, n: int) -> None:
        """Take note that the model has answered a batch of n rows. An exception ends the evaluation."""

    def halved(self, batch_size: int) -> None:
        """Take note that memory ran out, and that batches have at most `batch_size` rows since."""


UNWATCHED = Watch()


def check_batch_size(batch_size: int | str) -> int | None:
    """Return the batch size, or None for ``"auto"``."""
    if isinstance(batch_size, str) and batch_size == "auto":
        return None
    if not is_integer(batch_size) or batch_size < 1:
        raise OptionError(f"batch_size is {batch_size!r}, expected 'auto' or an integer >= 1")
    return int(batch_size)


def ask(
    probe: Probe, coordinates: Floats, batch_size: int | None = None, first: int = 0, *, watch: Watch = UNWATCHED
) -> Floats:
    """Return the model's scores `(n, k)` at coordinates `(n, p)`.

    The coordinates are the rows `first`, `first` + 1, ... of a design.
    """
    with probe.opened() as scores:
        return gathered(scores, coordinates, batch_size or probe.batch_size, first, watch=watch)


def ask_exchanged(probe: Probe, sources: Ints, batch_size: int, first: int = 0, *, watch: Watch = UNWATCHED) -> Floats:
    """Return the model's scores `(n, k)` where word i has the content of word `sources[:, i]`; see `ask`.

    `sources` is `(n, p)`.
    """
    return gathered(lambda s, _: probe.exchanged(s), sources, batch_size, first, watch=watch)


def gathered(
    call: Callable[[R, Ints], Floats], points: R, batch_size: int, first: int = 0, *, watch: Watch = UNWATCHED
) -> Floats:
    """Return the checked results `(n, m)` of all batches of points `(n, p)`."""
    results = np.empty((0, 0))
    for rows, batch in in_batches(call, points, batch_size, first, watch=watch):
        if rows.start == 0:
            results = np.empty((len(points), batch.shape[1]))
        results[rows] = _checked(batch, rows.start + first)
    return results


def in_batches(
    call: Callable[[R, Ints], T], points: R, batch_size: int, first: int = 0, *, watch: Watch = UNWATCHED
) -> Iterator[tuple[slice, T]]:
    """Yield the slice of each batch and the result of `call` for it; halve the batches when memory runs out.

    No small array is kept from one batch to the next. It could lie in memory between the large arrays of two batches
    and prevent that their memory is reused.
    """
    start, n = 0, len(points)
    while start < n:
        rows = np.arange(start, start + _next_size(n - start, batch_size))
        try:
            result = call(points[rows], rows + first)
        except MemoryError as error:
            if batch_size == 1:
                raise ModelError(
                    "the model ran out of memory on a single input; shorten the text or use a larger device"
                ) from error
            batch_size = max(1, min(batch_size, len(rows)) // 2)
            watch.halved(batch_size)
            continue
        watch.asked(len(rows))
        yield slice(start, start + len(rows)), result
        start += len(rows)


def _next_size(n_left: int, batch_size: int) -> int:
    """Return the size of the next batch; the last two are about equal, because short batches cost more per row."""
    if batch_size < n_left < 2 * batch_size:
        return -(-n_left // 2)
    return min(n_left, batch_size)


def check_start(start: Floats) -> Floats:
    """Return the scores `(1, k)` of the text itself, checked."""
    if _unusable(start).any():
        raise NonFiniteError(
            f"the model returned {start[0].tolist()} for the text itself, expected finite class scores"
        )
    return start


def _unusable(results: Floats) -> np.ndarray:
    """Return for each row whether it has NaN or positive infinity.

    Minus infinity is valid: it is the logit of an impossible class.
    """
    return np.asarray((np.isnan(results) | np.isposinf(results)).any(axis=1))


def _checked(results: Floats, first: int) -> Floats:
    bad = np.flatnonzero(_unusable(results))
    if len(bad):
        raise NonFiniteError(
            f"the model returned NaN or infinity for {len(bad)} of {len(results)} perturbed inputs "
            f"(the first is row {first + bad[0]} of the design), expected numbers; check the model on this text "
            "(a method that scales word vectors may need a smaller sigma)"
        )
    return results
