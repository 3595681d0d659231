"""Tests of `mase_corpora.plan`."""

import os

import pytest

import mase
from mase.errors import DataError, EmptyTextError
from mase.sources import open_source
from mase.target import Question
from mase_corpora import read as estimate
from mase_corpora.lock import hold
from mase_corpora.plan import Plan, Shard
from mase_corpora.read import read_status
from mase_corpora.storage import storage_of

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
    assert 10 < found.n_queries <= 2 * 16 + 4  # all subsets of four words, and those that are compared
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


def predict(texts):
    return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]


def test_a_finished_run(tmp_path):
    mase.run(["a good film", "", "a dull film"], tmp_path / "out", model=predict, engine="here", n_samples=8)
    found = read_status(tmp_path / "out")
    assert (found.n_texts, found.n_texts_done, found.n_parts_done, found.n_failed) == (3, 3, 1, 1)
    assert found.is_complete
    assert (found.drivers, found.texts_per_second, found.seconds_left) == ((), None, None)


@pytest.mark.parametrize("table", ["units", "responses", "timings"])
def test_a_part_without_one_of_its_files_is_not_finished(tmp_path, table):
    mase.run(["good", "bad", "dull"], tmp_path, model=predict, engine="here", n_samples=8, part_size=1)
    for part in (0, 2):
        (tmp_path / table / f"part-0000{part}.parquet").unlink()
    with pytest.raises(DataError, match=rf"{table}/part-00000.*missing.* 1 other.*texts/part-00000"):
        read_status(tmp_path)


def test_a_run_without_an_explained_text(tmp_path):
    with (
        hold(storage_of(tmp_path), Shard(), dict),
        pytest.raises(DataError, match=rf"process {os.getpid()} .* has not explained a text so far"),
    ):
        read_status(tmp_path)
    with pytest.raises(DataError, match="expected the folder of a run"):
        read_status(tmp_path)
