"""Explain the windows of a long text one by one, and put the answers together."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mase.attribution import Attribution, Note
from mase.choices import Pooling
from mase.errors import EmptyTextError
from mase.models.protocol import Model
from mase.progress import Listener, Progress
from mase.target import target_index
from mase.windows.combining import Part, combined
from mase.windows.long_text import LongText, WindowText
from mase.windows.pooling import pooled

__all__ = ["Explain", "explained"]

# Explains the document of a window for a class, given by its index, and tells the listener, if there is one.
Explain = Callable[[WindowText, int, Listener | None], Attribution]


def explained(
    long: LongText,
    model: Model,
    target: str | int | None,
    explain: Explain,
    listener: Listener | None = None,
) -> Attribution:
    """Return the attribution of a long text from those of its windows, which `explain` returns.

    If `target` is None, each window is evaluated once more, for the class of highest pooled probability. Windows with
    nothing that the model reads are left out.

    Raises
    ------
    EmptyTextError
        If no window has a unit that the model reads.
    OptionError, UnknownNameError
        If there is no such class.
    """
    begun = time.perf_counter()
    windows = [window for window in long.windows if _is_read(model, window)]
    n_asked = len(windows) if target is None else 0
    index = target_index(model.labels, target, 0 if target is not None else _predicted(model, windows, long.pooling))
    parts: list[Part] = []
    for window in windows:
        told = None if listener is None else _told(listener, n_asked, len(windows))
        found = explain(window, index, told)
        n_asked += found.fit.n_queries
        parts.append(Part(window, _with_note(found)))
    found = combined(long.document.fields, parts, long.pooling)
    fit = replace(found.fit, n_queries=n_asked, seconds=time.perf_counter() - begun)
    return replace(found, fit=fit)


def _is_read(model: Model, window: WindowText) -> bool:
    try:
        return not all(model.encode(window.document).fixed)
    except EmptyTextError:
        return False


def _predicted(model: Model, windows: Sequence[WindowText], pooling: Pooling) -> int:
    """Return the class of highest pooled probability, from one evaluation per window."""
    numbers = np.asarray(model.predict([window.document for window in windows]), dtype=np.float64)
    return int(np.argmax(pooled(numbers, pooling)))


def _told(listener: Listener, n_asked: int, n_windows: int) -> Listener:
    """Return a listener of one window that tells the listener of the whole text, after `n_asked` evaluations."""
    return lambda progress: listener(Progress(n_asked + progress.n_asked, n_windows * progress.n_samples))


def _with_note(found: Attribution) -> Attribution:
    """Return the attribution of a window; one that is cut off is a single unit, and gets a note that says so."""
    cut = found.truncation
    if cut is None:
        return found
    message = f"this unit is longer than the model reads: it read {cut.n_kept:,} of its {cut.n_total:,} tokens"
    return replace(found, notes=(*found.notes, Note("cut-off", message, 0)))
