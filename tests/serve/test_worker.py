"""Tests of `mase_serve.worker`: what a worker answers, in this process."""

import numpy as np
import pytest

import mase
from mase.attribution.json import loads
from mase.models import Callable
from mase.testing import LogisticClassifier
from mase_serve.worker import (
    Asked,
    Cancelled,
    Changed,
    Explain,
    Explained,
    Failed,
    Predict,
    Predicted,
    Request,
    Round,
    Settings,
    Without,
    Worker,
    encode,  # fmt: skip
)

TEXT = "a dull start but a wonderful and warm end"
judge = LogisticClassifier({"dull": -1.5, "wonderful": 2.0, "warm": 0.75})
SETTINGS = Settings(n_samples=60, evidence=2)


def answers(function, *asks, cancelled=()):
    """Return all that a worker says about requests 1, 2, ..."""
    told = []
    model = Callable(function, labels=["neg", "pos"])
    worker = Worker(model, told.append, set(cancelled))
    for number, ask in enumerate(asks, 1):
        worker.handle(Request(number, ask))
    return told


def test_a_prediction():
    (found,) = answers(judge, Predict(TEXT))
    assert found == Predicted(1, pytest.approx(tuple(judge([TEXT])[0])), are_values=False)


def test_an_explanation_is_that_of_the_library():
    *_, found = answers(judge, Explain(TEXT, "neg", SETTINGS))
    plain = mase.Explainer(Callable(judge, labels=["neg", "pos"]), n_samples=60, evidence=2)(TEXT, target="neg")
    assert isinstance(found, Explained)
    assert loads(found.attribution) == plain
    assert "<article" in found.html


def test_progress_and_rounds_come_now_and_then(monkeypatch):
    """Not one message per batch: a page shows no more than so many, and each costs time."""
    monkeypatch.setattr("mase_serve.worker.PAUSE", 0.0)
    monkeypatch.setattr("mase_serve.worker.ROUND_PAUSE", 0.0)
    told = answers(judge, Explain(TEXT, None, SETTINGS))
    assert [type(message) for message in told].count(Round) == 3
    asked = [message.asked for message in told if isinstance(message, Asked)]
    assert asked == sorted(asked)
    monkeypatch.setattr("mase_serve.worker.PAUSE", 60.0)
    told = answers(judge, Explain(TEXT, None, SETTINGS))
    assert [type(message) for message in told] == [Asked, Round] * 3 + [Explained]  # how far it is, and its scores
    monkeypatch.setattr("mase_serve.worker.ROUND_PAUSE", 60.0)
    told = answers(judge, Explain(TEXT, None, SETTINGS))
    assert [type(message) for message in told] == [Explained]


def test_a_prediction_without_units_and_what_the_scores_lead_to_expect():
    *_, explained = answers(judge, Explain(TEXT, "pos", SETTINGS))
    found = loads(explained.attribution)
    (changed,) = answers(judge, Without(explained.attribution, Explain(TEXT, "pos", SETTINGS), (5, 1)))
    p = judge(["a start but a and warm end"])[0, 1]
    assert changed == Changed(
        1,
        "pos" if p > 0.5 else "neg",
        pytest.approx(max(p, 1 - p)),
        pytest.approx(p),
        pytest.approx(np.log(p / (1 - p))),
        found.expected_without([5, 1]),
        found.expected_probability_without([5, 1]),
    )


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (Explain("", None, SETTINGS), "EmptyTextError"),
        (Explain(TEXT, "other", SETTINGS), "UnknownNameError"),
        (Explain(TEXT, None, Settings(method="none")), "UnknownNameError"),
        (Explain(TEXT, None, Settings(n_samples=-1)), "OptionError"),
        (Explain(TEXT, None, Settings(reference="zero")), "CapabilityError"),
        (Explain(TEXT, None, Settings(method="gradient")), "CapabilityError"),
        (Explain(TEXT, None, Settings(seed=-1)), "OptionError"),
        (Explain(TEXT, None, Settings(units="page")), "UnknownNameError"),
    ],
)
def test_what_cannot_be_explained(ask, error):
    (found, after) = answers(judge, ask, Predict(TEXT))
    assert isinstance(found, Failed)
    assert (found.number, found.error) == (1, error)
    assert found.message
    assert isinstance(after, Predicted)


@pytest.mark.parametrize(
    "error", [ValueError("no <b>"), SystemExit(3), MemoryError(), RecursionError("deep"), OSError("caf\udce9")]
)
@pytest.mark.parametrize("ask", [Predict(TEXT), Explain(TEXT, None, SETTINGS)])
def test_a_model_that_raises_costs_one_answer(error, ask):
    def model(texts):
        if raising:
            raise error
        return judge(texts)

    raising = True
    told = []
    worker = Worker(Callable(model, labels=["neg", "pos"]), told.append, set())
    worker.handle(Request(1, ask))
    raising = False
    worker.handle(Request(2, Predict(TEXT)))
    failed, after = told
    assert isinstance(failed, Failed)
    assert failed.error == "ModelError"
    assert encode(failed)
    assert isinstance(after, Predicted)


def test_a_message_that_utf_8_cannot_encode_costs_one_answer():
    """The model is of a class of the user, which nothing of mase is around."""

    class Broken:
        labels, references = ("neg", "pos"), ("delete",)

        def predict(self, inputs):
            raise OSError("caf\udce9")

    told = []
    Worker(Broken(), told.append, set()).handle(Request(1, Predict(TEXT)))
    assert encode(told[0])


def test_a_cancelled_request_is_not_begun_and_one_under_way_ends_after_a_batch():
    asked = []

    def model(texts):
        asked.extend(texts)
        if len(asked) > 10:
            cancelled.add(2)
        return judge(texts)

    assert answers(model, Predict(TEXT), cancelled=[1]) == [Cancelled(1)]
    assert asked == []
    cancelled, told = set(), []
    worker = Worker(Callable(model, labels=["neg", "pos"]), told.append, cancelled)
    worker.handle(Request(2, Explain(TEXT * 5, None, Settings(n_samples=20_000))))
    assert told == [Cancelled(2)]
    assert len(asked) < 10_000
    assert cancelled == set()


def test_predictions_do_not_touch_random_numbers():
    import random

    def model(texts):
        random.random()
        return judge(texts)

    state = random.getstate()
    answers(model, Predict(TEXT))
    assert random.getstate() == state


def test_values_are_no_probabilities():
    told = []
    worker = Worker(Callable(lambda texts: [float(len(text)) for text in texts], outputs="values"), told.append, set())
    worker.handle(Request(1, Predict(TEXT)))
    worker.handle(Request(2, Explain(TEXT, None, SETTINGS)))
    assert told[0] == Predicted(1, (float(len(TEXT)),), are_values=True)
    worker.handle(Request(3, Without(told[-1].attribution, Explain(TEXT, None, SETTINGS), (0,))))
    assert (told[-1].label, told[-1].probability, told[-1].target_probability) == ("value", None, None)
