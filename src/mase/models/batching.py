"""Evaluate a probe in batches, with smaller batches when memory runs out, and check that the scores are finite."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.defaults import is_integer
from mase.errors import ModelError, NonFiniteError, OptionError
from mase.links import Contrast
from mase.models.base import Probe

R = TypeVar("R", Floats, Ints)
T = TypeVar("T")


class Watch(Protocol):
    """Is told what becomes of the batches."""

    def asked(self, n: int) -> None:
        """Take note that the model has answered a batch of n rows. An exception ends the evaluation."""
        ...

    def halved(self, batch_size: int) -> None:
        """Take note that memory ran out, and that batches have at most `batch_size` rows since."""
        ...


class _Unwatched:
    def asked(self, n: int) -> None:
        del n

    def halved(self, batch_size: int) -> None:
        del batch_size


UNWATCHED: Watch = _Unwatched()


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
    size = batch_size or probe.batch_size
    with probe.opened() as scores:
        return _collected(scores, coordinates, size, first, watch)


def ask_norms(
    probe: Probe,
    coordinates: Floats,
    link: str | Contrast,
    target: int,
    batch_size: int,
    first: int = 0,
    *,
    watch: Watch = UNWATCHED,
) -> Floats:
    """Return the norms `(n, p)` of the response's gradient with respect to the vectors of each word; see `ask`."""
    return _collected(
        lambda c, rows: probe.gradient_norms(c, rows, link, target), coordinates, batch_size, first, watch
    )


def ask_exchanged(probe: Probe, sources: Ints, batch_size: int, first: int = 0, *, watch: Watch = UNWATCHED) -> Floats:
    """Return the model's scores `(n, k)` where word i has the content of word `sources[:, i]`; see `ask`.

    `sources` is `(n, p)`.
    """
    return _collected(lambda s, _: probe.exchanged(s), sources, batch_size, first, watch)


def ask_gradients(
    probe: Probe,
    coordinates: Floats,
    link: str | Contrast,
    target: int,
    batch_size: int,
    first: int = 0,
    *,
    watch: Watch = UNWATCHED,
) -> tuple[Floats, Floats]:
    """Return the model's scores `(n, k)` and the response's derivatives `(n, p)` at the coordinates; see `ask`."""

    def gradients(c: Floats, rows: Ints) -> tuple[Floats, Floats]:
        scores, slopes = probe.gradients(c, rows, link, target)
        return _checked(scores, rows), _checked(slopes, rows)

    all_scores, derivatives = np.empty((0, 0)), np.empty(coordinates.shape)
    for rows, (scores, slopes) in in_batches(gradients, coordinates, batch_size, first, watch=watch):
        if rows.start == 0:
            all_scores = np.empty((len(coordinates), scores.shape[1]))
        all_scores[rows], derivatives[rows] = scores, slopes
    return all_scores, derivatives


def _collected(call: Callable[[R, Ints], Floats], points: R, batch_size: int, first: int, watch: Watch) -> Floats:
    """Return the checked results `(n, m)` of all rows."""
    results = np.empty((0, 0))
    for rows, batch in in_batches(lambda c, r: _checked(call(c, r), r), points, batch_size, first, watch=watch):
        if rows.start == 0:
            results = np.empty((len(points), batch.shape[1]))
        results[rows] = batch
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


def _checked(results: Floats, rows: Ints) -> Floats:
    bad = np.flatnonzero(_unusable(results))
    if len(bad):
        raise NonFiniteError(
            f"the model returned NaN or infinity for {len(bad)} of {len(rows)} perturbed inputs "
            f"(the first is row {rows[bad[0]]} of the design), expected numbers; check the model on this text "
            "(a method that scales word vectors may need a smaller sigma)"
        )
    return results
