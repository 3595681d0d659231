"""Tests of `mase.notebook`: what the script is told, and what it is answered."""

import json
import subprocess
import sys

import pytest
from tests.attributions import attribution

import mase
from mase.errors import OptionError
from mase.notebook import Widget

pytest.importorskip("anywidget")

# What `src/mase/widget/widget.js` reads of the model.
STATE = ("css", "headlines", "can_ask", "index", "article", "attribution", "out", "answer")


@pytest.fixture(scope="module")
def explainer():
    return mase.Explainer(lambda texts: [[0.1, 0.9] if "good" in text else [0.7, 0.3] for text in texts], n_samples=60)


@pytest.fixture(scope="module")
def found(explainer):
    return explainer(["a good day", "a bad week", "all good"])


def test_one_attribution_is_shown_without_a_list(found):
    widget = Widget(found[0])
    assert widget.headlines == []
    assert widget.article.count("data-unit=") == 3
    assert widget.attribution == found[0].to_dict()
    assert not widget.can_ask


def test_several_have_a_list_and_the_first_is_shown(found):
    for several in (found, iter(found)):
        widget = Widget(several)
        assert [line.split()[0] for line in widget.headlines] == ["1", "0", "1"]
        assert widget.attribution["document"][0]["text"] == "a good day"


def test_another_one_is_shown_with_all_words_in(found, explainer):
    widget = Widget(found, explainer)
    widget.out = [1]
    widget.index = 2
    assert widget.attribution["document"][0]["text"] == "all good"
    assert "good" in widget.article
    assert (widget.out, widget.answer) == ([], {})


def test_what_is_out_is_answered_by_the_model_and_the_scores(found, explainer):
    widget = Widget(found, explainer)
    widget.out = [1]
    changed = explainer.predict_without(found[0], [1])
    assert widget.answer["units"] == [1]
    assert (widget.answer["label"], widget.answer["target_probability"]) == ("0", changed.target_probability)
    assert widget.answer["target_probability"] == pytest.approx(0.3)
    assert widget.answer["expected_response"] == found[0].expected_without([1])
    assert widget.answer["expected_probability"] == pytest.approx(0.3)
    widget.out = [0, 2]
    assert widget.answer["target_probability"] == pytest.approx(0.9)
    widget.out = []
    assert widget.answer == {}


def test_without_an_explainer_nothing_is_asked(found):
    widget = Widget(found)
    widget.out = [1]
    assert widget.answer == {}


def test_what_cannot_be_answered_is_told_and_the_widget_goes_on(found):
    def failing(texts):
        raise RuntimeError("out of order")

    widget = Widget(found, mase.Explainer(mase.models.Callable(failing, name=found[0].model["name"])))
    widget.out = [1]
    assert widget.answer["units"] == [1]
    assert widget.answer["error"].startswith("ModelError: ")
    assert "out of order" in widget.answer["error"]
    widget.out = []
    assert widget.answer == {}


def test_an_index_that_does_not_exist_is_refused(found):
    widget = Widget(found)
    for index in (3, -1):
        with pytest.raises(OptionError, match=r"expected one of the 3 attributions"):
            widget.index = index
    assert widget.index == 0


def test_where_no_widget_is_shown_it_is_told_as_text(found):
    assert Widget(found)._repr_mimebundle_()[0]["text/plain"] == repr(found)
    assert repr(Widget(found[0])) == repr(found[0])


def test_nothing_to_show_is_refused():
    with pytest.raises(OptionError, match="at least one"):
        Widget([])


@pytest.mark.parametrize("found", [None, "a text", [1], 7])
def test_what_is_no_attribution_is_refused(found):
    with pytest.raises(OptionError, match="expected an Attribution"):
        Widget(found)


def test_what_is_no_explainer_is_refused(found):
    with pytest.raises(OptionError, match="expected a mase"):
        Widget(found, "lstm-imdb")


def test_what_the_script_reads_is_plain_json(found, explainer):
    widget = Widget(found, explainer)
    widget.out = [0]
    state = widget.get_state()
    assert set(STATE) <= state.keys()
    json.dumps({name: state[name] for name in STATE}, allow_nan=False)


def test_what_is_shown_is_escaped():
    hostile = "<img src=x onerror=alert(1)>"
    widget = Widget([attribution(hostile, label=hostile, other="no"), attribution()])
    assert "<img" not in widget.article


def test_without_anywidget_the_remedy_is_told():
    code = (
        "import sys; sys.modules['anywidget'] = None; import importlib.util as u; find = u.find_spec\n"
        "import mase.registry; mase.registry.find_spec = lambda name: None if name == 'anywidget' else find(name)\n"
        "import importlib, mase.errors\n"
        "for name in ('mase', 'mase.notebook'):\n"
        "    try: importlib.import_module(name).Widget\n"
        "    except mase.errors.MissingDependencyError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.count("pip install 'mase-xai[notebook]'") == 2
