"""Tests of the script `experiments/first_words.py`."""

import numpy as np
import pytest
from tests.experiments.scripts import FOLDER, needs_repository, script

from mase.measure import measure
from mase.methods import resolve
from mase.testing import FunctionProbe


@needs_repository
def test_the_first_word_stands_for_rows_that_mask_nothing_else(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("first_words")

    def response(kept):
        return 3 * kept[:, 0] + 4 * kept[:, 0] * kept[:, 1] + kept[:, 2:] @ np.linspace(0.1, 0.4, 28)

    def first(design):
        method = resolve("mase", design=design, link="logit", n_samples=600)
        return measure(FunctionProbe(response, 30), method, 0, np.random.default_rng(0)).estimate.gamma[0]

    assert first(module.FirstWords()) == pytest.approx(7, abs=0.4)  # without it, 7 is lost
    assert first(module.Candidate()) < 6


@needs_repository
def test_every_row_has_a_law(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    design = script("first_words").FirstWords()
    distribution = design.distribution(np.ones(40))
    sample = design.draw(np.random.default_rng(0), 200, distribution, np.linspace(1, 0, 40))
    assert sample.laws.shares.sum(axis=0) == pytest.approx(np.ones(200))
    chances = sample.laws.shares.T @ np.where(sample.laws.rates > 0, 1.0, 0.0)
    assert not sample.coordinates[chances == 0].any()
