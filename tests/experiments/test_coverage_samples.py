"""Tests of the script `experiments/coverage_samples.py`."""

import numpy as np
import pytest
from tests.experiments.scripts import FOLDER, needs_repository, script

SCORES = np.array([3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0, -0.5])


def explanations(n_samples, n_seeds, *, shift=0.0, reliable=True):
    """Yield records of one text whose scores vary by .1, with such errors, about scores that are shifted."""
    rng = np.random.default_rng(n_seeds)
    common = {"n_samples": n_samples, "row": 1, "n_queries": 100, "reliable": reliable, "r2_held_out": 0.6}
    for seed, noise in enumerate(rng.normal(0, 0.1, (n_seeds, len(SCORES)))):
        numbers = {"scores": (SCORES + shift + noise).tolist(), "errors": [0.1] * len(SCORES)}
        kept = {"kept": numbers["scores"], "kept_error": [0.0] * len(SCORES)}
        yield common | {"seed": seed} | numbers | kept


@needs_repository
def test_intervals_about_other_scores_cover_less_than_their_errors_say(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_samples")
    many = list(explanations(module.MANY, 4))
    right, kept = module.by_text([*many, *explanations("auto", 400)])
    assert (right["n_samples"], right["effect"], right["seeds"]) == ("auto", "score", 400)
    assert kept["effect"] == "kept"
    assert right["r2_held_out"] == 0.6
    for part in ("top", "shown", "rest"):
        assert right[part] == pytest.approx(0.95, abs=0.03)
        assert kept[part] < 0.75  # an error of 0, but for that of the scores with many samples
    assert abs(right["shift"]) < 0.05
    low, _ = module.by_text([*many, *explanations("auto", 400, shift=-0.4)])
    assert low["top"] < 0.25
    assert low["shift"] == pytest.approx(-0.13, abs=0.04)


@needs_repository
def test_texts_without_scores_from_many_samples_are_left_out(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_samples")
    assert not list(module.by_text([*explanations(module.MANY, 3), *explanations("auto", 20)]))


@needs_repository
def test_reliable_explanations_have_a_share_of_their_own(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_samples")
    some = [*explanations(1000, 100, reliable=True), *explanations(1000, 50, shift=5.0, reliable=False)]
    found, _ = module.by_text([*explanations(module.MANY, 4), *some])
    assert found["reliable"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["top_reliable"] == pytest.approx(0.95, abs=0.04)
    assert found["top"] == pytest.approx(found["top_reliable"] * 2 / 3, abs=1e-3)


@needs_repository
def test_the_highest_words_are_those_of_many_samples_and_not_the_others(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_samples")
    last = np.where(np.arange(len(SCORES)) < 5, 0.0, -1.0)
    found, _ = module.by_text([*explanations(module.MANY, 4), *explanations("auto", 200, shift=last)])
    assert found["top"] == pytest.approx(0.95, abs=0.03)
    assert found["shown"] == pytest.approx(0.95, abs=0.03)
    assert found["rest"] == 0
    assert abs(found["shift"]) < 0.05


@needs_repository
def test_what_a_verdict_covers_is_a_mean_over_its_explanations(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_samples")
    common = {"n_samples": "auto", "effect": "score", "seeds": 10, "n_queries": 500.0, "shown": 0.9, "rest": 0.95}
    texts = [
        common | {"row": 1, "top": 0.9, "reliable": 1.0, "top_reliable": 0.9, "shift": 0.1},
        common | {"row": 2, "top": 0.5, "reliable": 0.5, "top_reliable": 0.6, "shift": -0.2},
        common | {"row": 3, "top": 0.2, "reliable": 0.0, "top_reliable": None, "shift": -0.2},
    ]
    *_, row, _ = module.table("lstm-imdb", texts)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[4].startswith("0.533 ± ")
    assert cells[5] == "0.20"
    assert cells[8] == "-0.100"
    assert cells[9:] == ["0.800 (0.500)", "0.267 (0.500)"]  # (.9 + .5 x .6) / 1.5 and (.5 x .4 + .2) / 1.5


@needs_repository
def test_texts_are_told_apart_by_their_fit(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    module = script("coverage_samples")
    found = [(0.39, 0.2, -0.3), (-2.0, 0.4, -0.05), (0.4, 0.6, -0.11), (None, 0.0, -1.0), (0.7, 0.9, 0.0)]
    common = {"n_samples": "auto", "effect": "score"}
    texts = [common | {"r2_held_out": fit, "top": top, "shift": shift} for fit, top, shift in found]
    others = [texts[0] | {"effect": "kept"}, {key: texts[0][key] for key in (*common, "top", "shift")}]
    *_, low, middle, high, _ = module.by_fit([*texts, *others])
    cells = [[cell.strip() for cell in row.strip("|").split("|")][2:] for row in (low, middle, high)]
    assert cells == [
        ["2", "0.300", "0.20", "-0.175", "1"],
        ["1", "0.600", "0.60", "-0.110", "1"],
        ["1", "0.900", "0.90", "+0.000", "0"],
    ]
