"""Tests of progress where there is no terminal."""

import pytest

from mase.progress import Progress as Evaluations
from mase.render import progress as module
from mase.render.progress import Progress, evaluations


def test_a_line_now_and_then_and_one_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with Progress(10, earlier=4) as progress:
        progress.step(3, failed=1)
        state = progress.state()
    assert (state["done"], state["failed"], state["total"]) == (7, 1, 10)
    assert state["seconds_left"] == pytest.approx(3 / state["per_second"], rel=0.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("explaining: 7 of 10 texts, ")
    assert lines[0].endswith("left, 1 failed")
    assert lines[1].startswith("2 texts explained, 1 failed, ")


def test_no_line_before_it_is_due_and_none_if_hidden(capsys, monkeypatch):
    with Progress(10) as progress:
        progress.step()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with Progress(10, shown=False) as progress:
        progress.step(5)
    assert capsys.readouterr().err == ""


def test_no_line_after_the_last_text_but_the_closing_one(capsys, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with Progress(1) as progress:
        progress.step()
    assert capsys.readouterr().err == ""


def test_evaluations_of_one_explanation_are_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(module, "BETWEEN_LINES", 0.0)
    with evaluations("citing") as listener:
        listener(Evaluations(3, 64))
    assert capsys.readouterr().err == "citing: 3 of 64 evaluations\n"
    monkeypatch.setattr(module, "BETWEEN_LINES", 60.0)
    with evaluations("citing") as listener:
        listener(Evaluations(3, 64))
    assert capsys.readouterr().err == ""
