"""Tests of `mase.render.pictures`."""

import sys

import pytest

from mase.errors import MissingDependencyError
from mase.render.pictures import PICTURES, check_matplotlib, new_figure, picture

BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", PICTURES)
def test_the_same_figure_gives_the_same_bytes(suffix):
    pytest.importorskip("matplotlib")

    def drawn():
        figure = new_figure(2, 1)
        figure.subplots().plot([1, 2], label="$x")
        return picture(figure, suffix)

    assert drawn() == drawn()
    assert drawn().startswith(BEGINS[suffix])
    assert b"dc:date" not in drawn()
    assert b"/CreationDate" not in drawn()


def test_without_matplotlib_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for make in (check_matplotlib, lambda: new_figure(1, 1)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[plot\]'"):
            make()
