"""Tests of `mase.render.figure`."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.answers import cited
from tests.attributions import attribution

from mase.errors import MissingDependencyError, OptionError
from mase.render.figure import PICTURES, bar_chart, check_matplotlib, new_figure, picture


def test_bar_chart_shows_the_strongest_words_in_reading_order(tmp_path):
    pytest.importorskip("matplotlib")
    figure = bar_chart(attribution(label="$x^2$", model_name="$y$"), 4)
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["cast", "superb", "plot", "dull"]
    assert [bar.get_width() for bar in axes.patches] == [0.03, 0.25, -0.04, -0.125]
    assert axes.get_xlabel() == "probability of $x^2$, ± 95 % interval (sampling)"
    assert attribution().plot().axes
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
    bar_chart(attribution("fine", [0.0])).savefig(tmp_path / "zero.png")
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(OptionError, match="k is"):
            bar_chart(attribution(), wrong)


def test_a_notebook_shows_the_picture_without_magic_words():
    """IPython asks an object for a PNG; pyplot, and its backend, are not needed."""
    formatters = pytest.importorskip("IPython.core.formatters")
    shown, _ = formatters.DisplayFormatter().format(attribution().plot())
    assert shown["image/png"].startswith(b"\x89PNG")


def test_an_answer_is_the_title_and_its_sources_are_in_order():
    pytest.importorskip("matplotlib")
    axes = bar_chart(cited()).axes[0]
    assert axes.get_title(loc="left") == "answer: The capital of France is Paris. It lies on the Seine. It is…"
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert [label[:9] for label in labels] == ["Paris is ", "It has tw", "The Seine", "Berlin li"]


@pytest.mark.slow
def test_figures_leave_the_global_state_of_pyplot_alone():
    code = "import sys, tests.attributions as t; t.attribution().plot(); print('matplotlib.pyplot' in sys.modules)"
    root = Path(__file__).parents[3]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert found.stdout.strip() == "False"


def test_without_matplotlib_the_remedy_is_told(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[plot\]'"):
        attribution().plot()


def test_the_figure_of_random_scores_has_no_error_bars():
    pytest.importorskip("matplotlib")
    axes, usual = (bar_chart(made).axes[0] for made in (attribution(se=None), attribution()))
    assert len(axes.collections) == 0 < len(usual.collections)
    assert "±" not in axes.get_xlabel()
    assert "±" in usual.get_xlabel()


def test_titles_fit_and_are_read_in_order():
    pytest.importorskip("matplotlib")
    long = "a long name of a class, which says much " * 3
    axes = bar_chart(attribution(label=long, link="margin", against=long[1:])).axes[0]
    assert axes.get_title(loc="left") == f"predicted {long[:49]}… 80.0 %"
    lines = axes.get_xlabel().split("\n")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 75
    arabic = "\u2068إيجابي\u2069"
    axes = bar_chart(attribution("جميل جدا", [0.5, 0.2], label="إيجابي")).axes[0]
    assert axes.get_title(loc="left") == f"predicted {arabic} 80.0 %"
    assert axes.get_xlabel().startswith(f"probability of {arabic},")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["\u2068جميل\u2069", "\u2068جدا\u2069"]


@pytest.mark.parametrize("longest", ["dull", "Donaudampfschifffahrtsgesellschaftskapitän"])
def test_the_label_of_the_axis_is_not_cut(longest):
    pytest.importorskip("matplotlib")
    made = attribution(f"superb {longest}", [0.5, 0.2], label="a class of some length", link="margin")
    figure = bar_chart(made)
    figure.draw_without_rendering()
    box = figure.axes[0].xaxis.label.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", PICTURES)
@pytest.mark.slow
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


def test_pictures_without_matplotlib_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for make in (check_matplotlib, lambda: new_figure(1, 1)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[plot\]'"):
            make()
