"""Tests of the script `experiments/stopping.py`."""

import numpy as np
import pytest
from tests.experiments.scripts import FOLDER, needs_repository, script

SCORES = np.array([3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -0.5])


@pytest.fixture
def stopping(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return script("stopping")


def explanations(rule, row, n_seeds, *, spread, told, n_queries=100):
    """Return records whose scores vary by `spread`, with standard errors of `told`."""
    rng = np.random.default_rng(row)
    return [
        {
            "rule": rule,
            "row": row,
            "seed": seed,
            "n_queries": n_queries,
            "scores": (SCORES + rng.normal(0, spread, len(SCORES))).tolist(),
            "errors": [told] * len(SCORES),
        }
        for seed in range(n_seeds)
    ]


@needs_repository
def test_intervals_cover_as_often_as_their_errors_are_right(stopping):
    some = [
        *explanations("none", 1, 400, spread=0.1, told=0.1),
        *explanations("tolerance=0.1", 1, 400, spread=0.1, told=0.05, n_queries=50),
    ]
    right, small = stopping.by_text(some)
    assert (right["rule"], right["n_queries"], small["n_queries"]) == ("none", 100, 50)
    for part in ("top", "shown", "rest"):
        assert right[part] == pytest.approx(0.95, abs=0.02)
        assert small[part] == pytest.approx(0.673, abs=0.03)  # within .98 standard deviations
    assert right["same"] > 0.99


@needs_repository
def test_rules_and_texts_are_compared_by_the_seeds_that_all_have(stopping):
    some = [
        *explanations("none", 1, 30, spread=0.1, told=0.1),
        *explanations("none", 2, 20, spread=0.1, told=0.1),
        *explanations("stable_top=3", 1, 25, spread=0.1, told=0.1),
    ]
    found = list(stopping.by_text(some))
    assert [(one["rule"], one["row"], one["seeds"]) for one in found] == [
        ("none", 1, 20),
        ("none", 2, 20),
        ("stable_top=3", 1, 20),
    ]
    alone = next(iter(stopping.by_text(some[:20])))
    assert found[0] == alone


@needs_repository
def test_words_that_other_seeds_show_are_not_the_same(stopping):
    (found,) = stopping.by_text(explanations("none", 1, 200, spread=2.0, told=2.0))
    assert 0.5 < found["same"] < 0.9
