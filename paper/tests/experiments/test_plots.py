"""Tests of `mase_paper.experiments.plots`."""

import dataclasses

import pytest

from mase.errors import MissingDependencyError, OptionError
from mase_paper.experiments.plots import Curve, Panel, draw, save

PANEL = Panel(
    "A", "k", "share", (Curve("one", (1, 2), (0.1, 0.2), (0.0, 0.1), (0.2, 0.3)), Curve("two $x", (1, 2), (0.3, 0.1)))
)


def test_curves_are_the_same_bytes_for_the_same_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    one, two = (save(draw([PANEL]), tmp_path / name) for name in ("a.svg", "b.svg"))
    assert one.read_bytes() == two.read_bytes()
    assert "two $x" in one.read_text(encoding="utf-8")
    assert "<dc:date>" not in one.read_text(encoding="utf-8")


def test_curves_draw_what_they_are_given():
    pytest.importorskip("matplotlib")
    figure = draw([dataclasses.replace(PANEL, log_x=True), PANEL, PANEL])
    first, second, _, empty = figure.axes
    assert first.get_xscale() == "log"
    assert [line.get_ydata().tolist() for line in second.lines] == [[0.1, 0.2], [0.3, 0.1]]
    assert len(second.collections) == 1  # the band of the one that has an interval
    assert not empty.axison
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two $x"]


def test_curves_that_cannot_be_drawn(monkeypatch):
    with pytest.raises(OptionError, match="no panel"):
        draw([])
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"mase-xai\[plot\]"):
        draw([PANEL])
