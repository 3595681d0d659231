"""Ask a model a few questions, to find out what it answers, how far answers agree, and how long they take."""

import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from mase.bound_text import BoundText
from mase.doctor.check import Agreement, Speed
from mase.document import PAIR, Document, Input
from mase.errors import MaseError
from mase.explainer import Explainer
from mase.models.batching import ask
from mase.models.callable import Callable
from mase.models.protocol import Model
from mase.target import Question
from mase.text import Truncation

__all__ = ["agreement", "bound", "cut_off", "fails", "inputs", "speed"]

# Numbers of words of the texts that are tried for a cut-off.
_LENGTHS = (32_768, 16_384, 4_096, 1_024, 256)
# Seconds that the evaluations of one text may take, unless a single one takes longer.
_PATIENCE = 0.5
_SENTENCE = "Most of the people whom we asked were happy with it, and a few were not. "
# An input of each kind.
_EXAMPLES: dict[str, Input] = {
    "texts": _SENTENCE,
    "pairs": ("It rains today.", "The street is dry."),
    "records": {"title": "Rain", "body": "The street is wet.", "place": "Rome"},  # two texts would be a pair
}


def bound(explainer: Explainer, text: Input) -> BoundText:
    """Return an input as the explainer measures it, for the predicted class.

    Raises
    ------
    MaseError
        If the text cannot be explained.
    """
    model, method = explainer.model, explainer.method
    document = Document.of(text, fixed=explainer.fixed, background=explainer.background)
    return BoundText.of(model, method, document, Question(), explainer.splitter, seed=explainer.seed)


def inputs(model: Model, given: Document | None) -> tuple[str, ...]:
    """Return the kinds of inputs that the model answers: "texts", "pairs" and "records"."""
    found = []
    for kind, example in (_EXAMPLES if given is None else _EXAMPLES | {_kind(given): given}).items():
        with suppress(MaseError):
            model.predict([example])
            found.append(kind)
    return tuple(found)


def _kind(document: Document) -> str:
    if document.is_plain:
        return "texts"
    return "pairs" if tuple(field.name for field in document.fields) == PAIR else "records"


def cut_off(model: Model) -> tuple[Truncation | None, int]:
    """Return how the model cuts off a text that is too long, and the number of words of the text that was tried.

    The text is shorter if the model cannot encode a long one. The number is 0 if none can be encoded, or if that does
    not tell: a black box takes texts whole, and may cut them off itself.
    """
    if isinstance(model, Callable):
        return None, 0
    for n_words in _LENGTHS:
        with suppress(MaseError):
            return model.encode(_SENTENCE * (n_words // len(_SENTENCE.split()))).truncation, n_words
    return None, 0


def fails(model: Model, n_words: int) -> MaseError | None:
    """Return the error of a model for a text of about so many words; None if it answers."""
    try:
        model.predict([_SENTENCE * (n_words // len(_SENTENCE.split()))])
    except MaseError as error:
        return error
    return None


def agreement(model: Model, texts: Sequence[Input]) -> Agreement:
    """Return how far predictions `(k,)` for the first text differ: asked twice, and in a batch with the others.

    Raises
    ------
    MaseError
        If the model fails.
    """
    alone, again = model.predict(texts[:1])[0], model.predict(texts[:1])[0]
    in_batch = model.predict([*texts[1:], texts[0]])[-1]
    difference = float(np.abs(alone - again).max())
    nearest = min(float(np.abs(in_batch - one).max()) for one in (alone, again))
    return Agreement(difference, max(0.0, nearest - difference))


def speed(explainer: Explainer, text: Input) -> Speed:
    """Return the time of an evaluation of a text with some of its units masked.

    Raises
    ------
    MaseError
        If the model fails.
    """
    probe = bound(explainer, text).probe
    p, rng = len(probe.scale), np.random.default_rng(explainer.seed)

    def seconds(n: int) -> float:
        rows = rng.integers(0, 2, size=(n, p)).astype(np.float64)
        begun = time.perf_counter()
        ask(probe, rows)
        return time.perf_counter() - begun

    seconds(1)  # the first evaluation is slower than the others
    n, taken = 1, seconds(1)
    while n < probe.batch_size and taken < _PATIENCE / 8:  # a batch of four times as many takes half of it at most
        n = min(4 * n, probe.batch_size)
        taken = seconds(n)
    budget = explainer.method.budget(p)
    return Speed(p, n, taken / n, min(2**p, budget) if explainer.method.space.binary else budget)
