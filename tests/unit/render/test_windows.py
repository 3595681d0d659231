"""Tests of `mase.render.wording`."""

from dataclasses import replace
from html import escape

import pytest

pytest.importorskip("torch")
from tests.unit.texts import additive, long_text

import mase
from mase.render.terminal import summary
from mase.render.wording import window_lines


def test_every_window_has_a_line_on_the_terminal_and_the_page():
    found = mase.Explainer(additive(), windows=True, n_samples=64)(long_text(100))
    first, *lines = window_lines(found)
    assert "effect of a word" in first
    assert len(lines) == len(found.windows)
    assert [line.endswith("decides") for line in lines] == [window.of("yes").decides for window in found.windows]
    assert set(window_lines(found)) <= set(summary(found).splitlines())
    assert all(escape(line) in found.to_html() for line in lines)
    told = [replace(window.prediction, label="إيجابي") for window in found.windows]
    windows = tuple(replace(window, prediction=one) for window, one in zip(found.windows, told, strict=True))
    assert all(": \u2068إيجابي\u2069 " in line for line in window_lines(replace(found, windows=windows))[1:])


def test_texts_without_windows_have_no_lines():
    assert window_lines(mase.Explainer(additive(), n_samples=64)(long_text(9))) == []
