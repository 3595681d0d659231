"""Several texts of a model that waits: the passes of one run beside the fits of another, with the same results."""

import time

import numpy as np
import pytest

import mase

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
    return mase.Explainer(model, n_samples=200)


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
    import threading

    found = explainer(monkeypatch, True).stream(TEXTS)
    next(found)
    found.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("mase-explain")]
