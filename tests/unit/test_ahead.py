"""Several texts of a model that waits: the passes of one run beside the fits of another, with the same results."""

import threading
import time

import numpy as np
import pytest

import mase
from mase.estimators.kernel_ridge import KernelRidge

torch = pytest.importorskip("torch")

TEXTS = [f"the film number {index} is superb and the plot is not dull at all" for index in range(8)]


class Sleeping(torch.nn.Module):
    """A module that waits as for a device, without the lock of Python."""

    def __init__(self, seconds=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.head, self.seconds = torch.nn.Embedding(100, 4), torch.nn.Linear(4, 2), seconds

    def forward(self, ids):
        time.sleep(self.seconds)
        return self.head(torch.tanh(self.words(ids).sum(dim=1)))


def of_words(text):
    return [sum(map(ord, word)) % 100 for word in text.split()]


def explainer(monkeypatch, waits, seconds=0.0):
    model = mase.models.TorchModule(Sleeping(seconds), tokenize=of_words, unk_id=0)
    monkeypatch.setattr(type(model), "waits", waits)
    return mase.Explainer(model, n_samples=200, evidence=3)


@pytest.mark.slow
def test_results_are_those_of_one_by_one(monkeypatch):
    ahead = explainer(monkeypatch, True)(TEXTS)
    alone = explainer(monkeypatch, False)(TEXTS)
    assert [found.text for found in ahead] == TEXTS
    for one, other in zip(ahead, alone, strict=True):
        assert one.scores.tolist() == other.scores.tolist()
        assert np.array_equal(one.standard_errors, other.standard_errors)


def test_an_error_is_that_of_its_text(monkeypatch):
    found = explainer(monkeypatch, True).stream([*TEXTS[:3], "", *TEXTS[3:]])
    assert [next(found).text for _ in range(3)] == TEXTS[:3]
    with pytest.raises(mase.MaseError) as raised:
        next(found)
    assert raised.value.__notes__ == ["at text number 3, counted from 0"]


def test_who_stops_reading_ends_the_threads(monkeypatch):
    found = explainer(monkeypatch, True).stream(TEXTS)
    next(found)
    found.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("mase-explain")]


def in_a_run(explainer, texts, folder):
    """Within a task, of which a run of few texts has one for each text."""
    running = pytest.importorskip("mase_corpora.running")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "TASKS_PER_WORKER", 1)
        made = mase.run(texts, folder, model=explainer, engine="here")
    return [made.units().column("score").to_pylist(), made.texts().column("n_queries").to_pylist()]


def evaluated(explainer, texts, folder):
    found = mase.evaluate(explainer.model, texts, ["mase", "lime"], n_samples=100)
    return [[one.scores.tolist() for one in text.by_method.values()] for text in found.texts] + [
        found.values(method).tolist() for method in found.methods
    ]


def explained(explainer, texts, folder):
    return [found.scores.tolist() for found in explainer(texts)]


ALL = pytest.mark.parametrize("several", [explained, in_a_run, evaluated])


@pytest.mark.slow
@ALL
def test_runs_and_evaluations_are_those_of_one_by_one(monkeypatch, tmp_path, several):
    ahead, alone = (several(explainer(monkeypatch, waits), TEXTS, tmp_path / str(waits)) for waits in (True, False))
    assert ahead == alone


@pytest.mark.slow
@ALL
@pytest.mark.parametrize("waits", [True, False])
def test_the_model_is_asked_about_a_text_while_another_one_is_fitted(monkeypatch, tmp_path, several, waits):
    fit, forward, fitting, met = KernelRidge.fit, Sleeping.forward, [], threading.Event()

    def slow_fit(self, problem):
        if not fitting:  # the other thread goes on: after its own fit it tests the best words
            fitting.append(threading.get_ident())
            met.wait(5.0 if waits else 0.1)
            fitting.clear()
        return fit(self, problem)

    def heard(self, ids):
        if fitting and fitting != [threading.get_ident()]:
            met.set()
        return forward(self, ids)

    monkeypatch.setattr(KernelRidge, "fit", slow_fit)
    monkeypatch.setattr(Sleeping, "forward", heard)
    several(explainer(monkeypatch, waits, seconds=0.001), TEXTS[:3], tmp_path / "run")
    assert met.is_set() == waits
