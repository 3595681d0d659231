"""Functions of texts that answer wrongly, unsteadily, or not at all."""

import numpy as np
import pytest

from mase import Explainer
from mase.errors import MaseError, ModelError, ShapeError
from mase.models import Callable
from tests.hostile import boxes, process
from tests.hostile.process import Limits
from tests.hostile.right import answered, invalid, typed

TEXT = "a good film with a dull end"
LIMITS = Limits(seconds=20)


def refuse(name):
    """Judge a function that answers wrongly."""
    if name == "rows of None" or name == "raises StopIteration":
        return typed(lambda: Explainer(boxes.WRONG[name], n_samples=32)(TEXT), ModelError)
    return typed(lambda: Explainer(boxes.WRONG[name], n_samples=32)(TEXT), ModelError, ShapeError)


def test_wrong_answers(judge):
    judge(process.each(refuse, [(name,) for name in boxes.WRONG], LIMITS))


def find_out(name, text):
    """Judge a function that answers differently: the note says so, and noise is in the standard errors."""
    box, code = boxes.UNSTEADY[name]
    try:
        found = Explainer(box, n_samples=64)(text)
    except MaseError as error:
        return f"refused: {type(error).__name__}: {error}"
    codes = [note.code for note in found.notes]
    if code not in codes:
        return f"without the note {code!r}: {codes}"
    if code == "not-deterministic" and not (found.standard_errors > 0).all():
        return f"standard errors {found.standard_errors.tolist()} of noise"
    return invalid(found) or None


@pytest.mark.parametrize("text", ["good", "good film", TEXT, "the good film " * 40], ids=len)
def test_unsteady_answers(text, judge):
    names = [name for name in boxes.UNSTEADY if text != "good" or boxes.UNSTEADY[name][1] == "not-deterministic"]
    judge((name, verdict) for (name, _), verdict in process.each(find_out, [(name, text) for name in names], LIMITS))


def keep_quiet(name, text):
    """Judge a steady function: nobody says of it that it is not."""
    found = Explainer(boxes.RIGHT[name], n_samples=64)(text)
    codes = {note.code for note in found.notes} & {"not-deterministic", "batch-dependent"}
    return f"said to be {codes}" if codes else None


@pytest.mark.parametrize("text", ["good", TEXT])
def test_steady_answers_raise_no_alarm(text, judge):
    judge(process.each(keep_quiet, [(name, text) for name in boxes.RIGHT], LIMITS))


def claim(name, text):
    """Judge a function that refuses some texts: a right answer, or its own error told."""
    verdict = answered(Explainer(boxes.CLAIMED[name], n_samples=64), text, lambda t: boxes.table([t])[0])
    return None if verdict is None or verdict.startswith("refused: ModelError") else verdict


def test_functions_that_refuse_some_texts(judge):
    judge(process.each(claim, [(name, text) for name in boxes.CLAIMED for text in ("good", TEXT)], LIMITS))


def interrupt(error):
    """Judge a function that is interrupted: what ends a program is not swallowed."""

    def box(texts):
        raise error

    try:
        Explainer(box)(TEXT)
    except type(error):
        return None
    except BaseException as other:  # noqa: BLE001
        return f"became {type(other).__name__}"
    return "was swallowed"


def test_an_interruption_goes_through(judge):
    judge(process.each(interrupt, [(KeyboardInterrupt(),)], LIMITS))


def declare(outputs, labels):
    """Judge one column of unbounded scores whose meaning the user gives: explained as told, not as its opposite."""
    text = "good film"
    model = Callable(lambda texts: np.array([5.0 * ("good" in t) - 3.0 for t in texts]), labels, outputs=outputs)
    found = Explainer(model, n_samples=64)(text, target=1)
    best = found.top(1)[0]
    return None if best.text == "good" and best.score > 1 else f"ranks {found.as_list()}"


def test_one_column_whose_meaning_is_given(judge):
    judge(process.each(declare, [("logits", ["neg", "pos"]), ("logits", ["pos"])], LIMITS))
