"""Tests of `mase.configuration`."""

import inspect

import pytest

import mase
from mase.configuration import SETTINGS, Configuration, parse
from mase.errors import OptionError, UnknownNameError
from mase.options import MoreOptions


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
    for wrong in ("mase+seed=-1", "mase+seed=0", "mase+sigma=0.1+sigma=0.2"):
        with pytest.raises(OptionError, match=r"expected a seed >= 1|twice"):
            parse(wrong)
    for wrong in ("mase+sigma", "mase+sigma=wide", "mase+n_samples=2.5", "mase+seed=x"):
        with pytest.raises(OptionError, match="with a value of type"):
            parse(wrong)


def test_settings_are_those_of_the_explainer():
    known = set(inspect.signature(mase.Explainer.__init__).parameters) | set(MoreOptions.__annotations__)
    assert set(SETTINGS) <= known
    explainer = mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], **parse("mase+n_samples=64+seed=2").options)
    assert (explainer.method.n_samples, explainer.seed) == (64, 2)
    assert parse("mase").options == {}
