"""Tests of how units of other sizes, and the words of a zoom, are shown on terminals and pages."""

import pytest
from rich.console import Console

import mase
from mase.render.terminal import heat_map
from mase.testing import LogisticClassifier

TEXT = "The cast is good. The plot, which never ends, is dull."


@pytest.fixture(scope="module")
def found():
    model = mase.models.Callable(LogisticClassifier({"good": 1.0, "dull": -2.0}), ["neg", "pos"])
    return mase.Explainer(model, units="sentence", zoom=1, evidence=2)(TEXT)


def test_a_terminal_names_units_and_shows_the_zoom_below(found):
    console = Console(width=90, no_color=True)
    with console.capture() as capture:
        console.print(heat_map(found))
    above, _, below = capture.get().partition("word by word in the strongest sentence, with the rest in place")
    assert "sentences for" in above
    assert "The plot, which never ends,…" in above
    assert "of 6 words" not in above
    assert "dull.⁺⁺⁺" in below
    assert "The cast is good. The plot," in below
    assert "word by word in the strongest sentence" in repr(found)


def test_a_page_shows_the_zoom_below(found):
    page = found.to_html()
    assert "Strongest sentences" in page
    assert page.index("Word by word in the strongest sentence") > page.index("The cast is good.")
    assert page.count("dir=auto") >= 2


def test_patterns_have_units():
    model = mase.models.Callable(LogisticClassifier({"good": 1.0}), ["neg", "pos"])
    found = mase.Explainer(model, units=r"re:good|plot")(TEXT)
    assert "2 units" in repr(found)
