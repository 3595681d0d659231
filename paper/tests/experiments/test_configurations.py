"""Tests of `mase_paper.experiments.configurations`."""

import pytest

import mase
from mase.errors import OptionError, UnknownNameError
from mase.options import MoreOptions
from mase_paper.experiments.configurations import SETTINGS, Configuration, parse
from mase_paper.experiments.experiment import Scope
from mase_paper.experiments.runner import Settings


@pytest.mark.parametrize(
    "text",
    [
        "mase",
        "mase-paper+n_samples=250",
        "mase+reference=pad+sigma=0.3",
        "lime+seed=4",
        "mase+center=0.5+link=margin+seed=1",
    ],
)
def test_configurations_round_trip_as_strings(text):
    assert str(parse(text)) == text
    assert parse(f" {text} ") == parse(text)


def test_settings_have_one_order_and_no_unknown_name():
    expected = Configuration("mase", (("link", "margin"), ("sigma", 0.3)))
    assert parse("mase+sigma=0.3+link=margin") == parse("mase+link=margin+sigma=0.3") == expected
    assert parse("mase").with_seed(3) == parse("mase+seed=3") == parse("mase+seed=3").with_seed(5)
    with pytest.raises(UnknownNameError, match="did you mean 'sigma'"):
        parse("mase+sigmas=0.3")
    with pytest.raises(UnknownNameError, match="unknown setting"):
        parse("mase+seeds=3")
    for wrong in ("mase+sigma", "mase+sigma=wide", "mase+n_samples=2.5", "mase+seed=-1"):
        with pytest.raises(OptionError, match="with a value of type"):
            parse(wrong)


def test_settings_are_those_of_the_explainer(black_box):
    import inspect

    known = set(inspect.signature(mase.Explainer.__init__).parameters) | set(MoreOptions.__annotations__)
    assert set(SETTINGS) <= known
    assert mase.Explainer(black_box, method="mase", **dict(parse("mase+n_samples=64").settings)).method.n_samples == 64


def test_scopes_and_settings_are_checked(tmp_path):
    for wrong in ({"targets": ("lstm-imbd",)}, {"n_texts": 0}, {"batches": 1}):
        with pytest.raises((UnknownNameError, OptionError)):
            Scope(**wrong)
    with pytest.raises(OptionError, match="jobs"):
        Settings(tmp_path, jobs=0)
