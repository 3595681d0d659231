"""Tests of the script `experiments/coverage.py`."""

import numpy as np
import pytest
from scipy import stats
from tests.experiments.scripts import FOLDER, needs_repository, script


@needs_repository
def test_the_interval_of_few_texts_is_that_of_student(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    shares = np.linspace(0.87, 0.97, 10)
    low, high = stats.t.interval(0.95, 9, shares.mean(), stats.sem(shares))
    assert script("coverage").half_width(shares) == pytest.approx((high - low) / 2)


SCORES = np.array([3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -0.5])


def explanations(method, row, n_seeds, *, spread, told, n_queries=100):
    """Return records whose scores vary by `spread`, with standard errors of `told`."""
    rng = np.random.default_rng(row)
    common = {"method": method, "row": row, "n_queries": n_queries, "errors": [told] * len(SCORES)}
    noise = rng.normal(0, spread, (n_seeds, len(SCORES)))
    return [common | {"seed": seed, "scores": (SCORES + one).tolist()} for seed, one in enumerate(noise)]


@needs_repository
def test_intervals_cover_as_often_as_their_errors_are_right(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    right, small = script("coverage").by_text(
        [
            *explanations("mase", 1, 400, spread=0.1, told=0.1),
            *explanations("tolerance=0.1", 1, 200, spread=0.1, told=0.05, n_queries=50),
        ]
    )
    assert (right["method"], right["seeds"], right["n_queries"]) == ("mase", 400, 100)
    assert (small["method"], small["seeds"], small["n_queries"]) == ("tolerance=0.1", 200, 50)
    for part in ("top", "shown", "rest"):
        assert right[part] == pytest.approx(0.95, abs=0.02)
        assert small[part] == pytest.approx(0.674, abs=0.04)  # within .98 standard deviations
    assert right["same"] > 0.99


@needs_repository
def test_a_text_that_one_seed_has_explained_is_left_out(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    some = [one for row in (1, 2) for one in explanations("mase", row, 3 - row, spread=0.1, told=0.1)]
    assert [one["row"] for one in script("coverage").by_text(some)] == [1]


@needs_repository
def test_words_that_other_seeds_show_are_not_the_same(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    (found,) = script("coverage").by_text(explanations("mase", 1, 200, spread=2.0, told=2.0))
    assert 0.65 < found["same"] < 0.9  # chance alone: five of eight words, .625


@needs_repository
def test_scores_that_are_the_same_with_every_seed_are_covered(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    scores = np.tile([3.336066, 0.1, 0.3, 0.7, 0.0, 1.1], (17, 1))
    found = script("coverage").covered(scores, np.zeros_like(scores))
    assert (found["top"], found["shown"], found["rest"]) == (1, 1, 1)
