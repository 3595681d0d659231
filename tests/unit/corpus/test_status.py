"""Tests of `mase.corpus.status`."""

import mase
from mase.corpus.status import read_status


def predict(texts):
    return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]


def test_a_finished_run(tmp_path):
    mase.run(["a good film", "", "a dull film"], tmp_path / "out", model=predict, engine="here", n_samples=8)
    found = read_status(tmp_path / "out")
    assert (found.n_texts, found.n_texts_done, found.n_parts_done, found.n_failed) == (3, 3, 1, 1)
    assert found.is_complete
    assert (found.drivers, found.texts_per_second, found.seconds_left) == ((), None, None)
