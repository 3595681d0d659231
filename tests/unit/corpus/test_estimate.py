"""Tests of `mase.corpus.estimate`."""

import pytest

import mase
from mase.corpus import estimate
from mase.corpus.inputs import open_source
from mase.corpus.plan import Plan, Shard
from mase.errors import EmptyTextError
from mase.target import Question

TEXTS = [f"good film number {i}" for i in range(100)]


@pytest.fixture
def explainer():
    return mase.Explainer(lambda texts: [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts], n_samples=20)


def test_a_few_texts_of_the_whole_are_explained(explainer, monkeypatch):
    monkeypatch.setattr(estimate, "MOST", 6)
    monkeypatch.setattr(estimate, "SECONDS", 3600.0)
    explain, fits = mase.Explainer.__call__, []

    def watched(explainer, text, **question):
        made = explain(explainer, text, **question)
        fits.append(made.fit)
        return made

    monkeypatch.setattr(mase.Explainer, "__call__", watched)
    found = estimate.estimate(open_source([*TEXTS, None]), explainer, Question(None), Plan(101, 8))
    assert (found.n_texts, found.n_unreadable, found.n_tried) == (101, 1, 6)
    assert 10 < found.n_queries <= 20  # no subset of four words is asked twice, but for those that are compared
    _, *fits = fits  # the first call of a model is slower than the others
    assert found.seconds == pytest.approx(sum(fit.seconds for fit in fits) / 6)


def test_only_texts_of_the_shard_are_explained(monkeypatch):
    read = set()

    def predict(texts):
        read.update(text.split()[-1] for text in texts if len(text.split()) == 4)
        return [[0.5, 0.5]] * len(texts)

    monkeypatch.setattr(estimate, "SECONDS", 0.0)
    plan = Plan(100, 8, Shard(13, 13))
    found = estimate.estimate(open_source(TEXTS), mase.Explainer(predict, n_samples=4), Question(None), plan)
    assert (found.n_texts, found.n_tried) == (4 if plan.n_parts == 13 else 0, 4)
    assert read <= {"96", "97", "98", "99"}
    empty = estimate.estimate(open_source(TEXTS), mase.Explainer(predict), Question(None), Plan(100, 100, Shard(2, 2)))
    assert (empty.n_texts, empty.n_tried) == (0, 0)


def test_a_failure_of_every_text_is_raised(explainer):
    with pytest.raises(EmptyTextError):
        estimate.estimate(open_source(["", " "]), explainer, Question(None), Plan(2, 8))
    assert estimate.estimate(open_source(["", *TEXTS[:3]]), explainer, Question(None), Plan(4, 8)).n_tried == 3
