"""Explain the windows of a long text one by one, and put the answers together."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mase.attribution import Attribution, Note, Prediction
from mase.choices import Pooling
from mase.errors import EmptyTextError
from mase.models.protocol import Model, ValueModel
from mase.progress import Listener, Progress
from mase.results import text_notes
from mase.target import ALL, Question
from mase.text import Tokens
from mase.windows.combining import Part, combined
from mase.windows.long_text import LongText, WindowText
from mase.windows.pooling import pooled

__all__ = ["Explain", "explained"]

# Explains the document of a window, and tells the listener, if there is one.
Explain = Callable[[WindowText, Question, Listener | None], Attribution]


def explained(
    long: LongText,
    model: Model,
    question: Question,
    explain: Explain,
    listener: Listener | None = None,
) -> Attribution:
    """Return the attribution of a long text from those of its windows, which `explain` returns.

    If the question is about the predicted class, each window is evaluated once more, for the class of highest pooled
    probability. Windows with nothing that the model reads are left out.

    Raises
    ------
    EmptyTextError
        If no window has a unit that the model reads.
    OptionError, UnknownNameError
        If there is no such class.
    """
    begun = time.perf_counter()
    read = [(window, tokens) for window in long.windows if (tokens := _read(model, window)) is not None]
    windows = [window for window, _ in read]
    n_asked, ranked = 0, tuple(range(len(model.labels)))
    if _needs_prediction(model, question):
        n_asked, ranked = len(windows), _ranked(model, windows, long.pooling)
    targets, against = question.indices(model.labels, ranked), question.against_index(model.labels)
    question = Question.about(model.labels, targets, against)
    parts: list[Part] = []
    for window in windows:
        told = None if listener is None else _told(listener, n_asked, len(windows))
        found = explain(window, question, told)
        n_asked += found.fit.n_queries
        parts.append(Part(window, _with_note(found)))
    found = combined(long.document.fields, parts, long.pooling)
    of_text = text_notes(*(tokens for _, tokens in read))
    others = [note for note in found.notes if note.code not in {one.code for one in of_text}]
    found = replace(found, notes=(*of_text, *others, *_unread(long)))
    fit = replace(found.fit, n_queries=n_asked, seconds=time.perf_counter() - begun)
    return replace(found, fit=fit)


def _unread(long: LongText) -> list[Note]:
    """Return a note if parts of the text are in no window, because units that the user chose are not there."""
    text, done, n_unread = long.document.fields[long.index].text, 0, 0
    for start, end in (*long.spans, (len(text), len(text))):
        n_unread += len(text[done:start].strip())
        done = max(done, end)
    message = (
        f"{n_unread:,} of the {len(text):,} characters of {long.document.fields[long.index].name!r} are in windows "
        "without units, which were not read: the prediction and the explained number are those of the other windows"
    )
    return [Note("cut-off", message)] if n_unread else []


def _read(model: Model, window: WindowText) -> Tokens | None:
    """Return the tokens of a window, None if it has nothing that the model reads."""
    try:
        tokens = model.encode(window.document)
    except EmptyTextError:
        return None
    return None if all(tokens.fixed) else tokens


def _needs_prediction(model: Model, question: Question) -> bool:
    """Return whether the classes that are explained depend on the prediction."""
    of_values = isinstance(model, ValueModel) and model.returns_values
    return not of_values and (question.target is None or question.target == ALL)


def _ranked(model: Model, windows: Sequence[WindowText], pooling: Pooling) -> tuple[int, ...]:
    """Return the classes, that of highest pooled probability first, from one evaluation per window."""
    numbers = np.asarray(model.predict([window.document for window in windows]), dtype=np.float64)
    return Prediction.of(model.labels, pooled(numbers, pooling)).ranked


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
