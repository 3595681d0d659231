"""Tests of progress where there is no terminal."""

import numpy as np
import pytest

from mase import progress as module
from mase.progress import Progress as Evaluations
from mase.progress import ProgressBar, evaluations


def test_a_line_now_and_then_and_one_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with ProgressBar(10, earlier=4) as progress:
        progress.step(3, failed=1)
        state = progress.state()
    assert (state["done"], state["failed"], state["total"]) == (7, 1, 10)
    assert 0 <= state["seconds_left"] < 100
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("explaining: 7 of 10, ")
    assert "texts per second" in lines[0]
    assert lines[0].endswith("left, 1 failed")
    assert lines[1].startswith("2 texts explained, 1 failed, ")


@pytest.mark.parametrize("spent", ["3 requests, 7 tokens, 0.1 in the unit of the prices"])
def test_a_bar_says_what_is_spent(spent, capsys, monkeypatch):
    monkeypatch.setattr(module, "_is_terminal", lambda console: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    with evaluations("citing", lambda: spent) as listener:
        listener(Evaluations(3, 64))
    assert spent in capsys.readouterr().err
    with ProgressBar(10, spent=lambda: spent) as progress:
        progress.step()
        assert spent in str(progress)


def test_no_line_before_it_is_due_and_none_if_hidden(capsys, monkeypatch):
    with ProgressBar(10) as progress:
        progress.step()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with ProgressBar(10, shown=False) as progress:
        progress.step(5)
    assert capsys.readouterr().err == ""


def test_no_line_after_the_last_text_but_the_closing_one(capsys, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with ProgressBar(1) as progress:
        progress.step()
    assert capsys.readouterr().err == ""


def test_evaluations_of_one_explanation_are_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with evaluations("citing") as listener:
        listener(Evaluations(3, 64))
    assert capsys.readouterr().err == "citing: 3 of 64 evaluations\n"
    with evaluations("citing", lambda: "7 tokens") as listener:
        listener(Evaluations(3, 64))
    assert capsys.readouterr().err == "citing: 3 of 64 evaluations, 7 tokens\n"
    monkeypatch.setattr(module, "BETWEEN_LINES", 60.0)
    with evaluations("citing") as listener:
        listener(Evaluations(3, 64))
    assert capsys.readouterr().err == ""


def replayed(log, n_workers, texts_per_part=32, overhead=0.02):
    """Yield the share of a run that is over, the time left that is shown, and the one that is true, once a second.

    `log` has the seconds of each part. Whoever is free takes the next part.
    """
    free, ends = [0.0] * n_workers, []
    for seconds in log:
        worker = min(range(n_workers), key=free.__getitem__)
        free[worker] += seconds * (1 + overhead)
        ends.append((free[worker], seconds))
    now, whole = [0.0], max(free)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.time, "perf_counter", lambda: now[0])
        with ProgressBar(texts_per_part * len(log), workers=n_workers, shown=False) as progress:
            events = sorted(
                [(end, seconds) for end, seconds in ends] + [(float(tick), None) for tick in range(int(whole))]
            )
            for at, seconds in events:
                now[0] = at
                if seconds is not None:
                    progress.step(texts_per_part)
                elif progress.n_done:
                    yield at / whole, progress.seconds_left, whole - at


@pytest.mark.parametrize(("n_workers", "n_parts"), [(1, 63), (2, 100), (8, 400)])
@pytest.mark.parametrize("seed", range(5))
def test_the_time_left_is_right_within_a_third_after_a_tenth_of_the_run(n_workers, n_parts, seed):
    """A tenth of the texts take 3.6 times as long as the median or longer, so that parts of 32 are uneven."""
    log = np.exp(np.random.default_rng(seed).normal(-1, 1, (n_parts, 32))).sum(axis=1).tolist()
    errors = [
        (share, abs(shown - left) / left) for share, shown, left in replayed(log, n_workers) if 0.1 <= share < 0.9
    ]
    assert max(error for _, error in errors) < 0.3
    assert np.median([error for _, error in errors]) < 0.15
