"""Tests of `mase.methods`."""

import numpy as np
import pytest

import mase
import mase.methods
import mase.procedures
from mase.errors import CapabilityError, OptionError, UnknownNameError
from mase.methods import METHODS, SETTINGS, Configuration, describe, parse, resolve
from mase.options import FORMER, ExplainerOptions
from mase.pipeline import measure
from mase.procedures import PROCEDURES
from mase.solve.strategy import Stopping
from mase.testing import smooth


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
    assert set(SETTINGS) <= {*ExplainerOptions.__annotations__, *FORMER}
    explainer = mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], method="mase+n_samples=64")
    assert explainer.method.n_samples == 64
    with pytest.raises(OptionError, match="give it as seed=2"):
        mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts], method="mase+seed=2")
    assert parse("mase").options == {}


TEXT = "I went in expecting a dull film and left delighted: superb acting, a clever story and a wonderful ending"


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("partition-shap", {"design": "iid"}, "design given for .* is a procedure, expected none"),
        ("partition-shap", {"sigma": 0.1}, "sigma given for .* is a procedure, expected none"),
        ("kernel-shap", {"sigma": 0.1}, "sigma given for .* a fixed distribution, expected none"),
        ("lime", {"center": 0.5}, "center given for .* a fixed distribution, expected none"),
        ("occlusion", {"design": "lime"}, "the estimator 'moment' .* is valid only for design 'leave-one-out'"),
        ("mase-nlgp", {"design": "lime", "sigma": 0.1}, "sigma given for .* a fixed distribution, expected none"),
        ("mase-nlgp", {"center": np.inf}, "center is inf"),
    ],
)
def test_parts_that_contradict_each_other(method, options, message):
    with pytest.raises(OptionError, match=message):
        resolve(method, **options)


def test_another_design_with_an_estimator_that_suits_it():
    found = resolve("occlusion", design="lime", estimator="least-squares")
    assert describe(found)["estimator"]["name"] == "least-squares"
    assert describe(resolve("occlusion", design="leave-one-out")) == describe(METHODS["occlusion"])


def test_a_design_with_a_law_takes_sigma_and_centre_away():
    method = resolve("mase-mask", design="lime")
    assert method.gaussian is None
    assert {"sigma", "center", "procedure"}.isdisjoint(describe(method))


def test_procedures_stop_when_they_want(lstm):
    for rules, named in (
        ({"tolerance": 0.1}, "tolerance"),
        ({"tolerance": 0.1, "stable_top": 1}, "tolerance and stable_top"),
    ):
        with pytest.raises(OptionError, match=f"^{named} given .* does not support stopping rules, expected none, or"):
            mase.Explainer(lstm, method="partition-shap", stopping=Stopping(**rules))(TEXT)
    assert measure(smooth(4), resolve("partition-shap", link="logit"), 0, np.random.default_rng(0), stopping=Stopping())


def test_rows_that_stand_still_need_gradients(lstm):
    with pytest.raises(OptionError, match="do not deviate"):
        mase.Explainer(lstm, method="integrated-gradients+estimator=least-squares")(TEXT)


def test_occlusion_needs_a_row_for_every_word(lstm):
    with pytest.raises(OptionError, match="n_samples leaves 4 for the scores, expected at least 19"):
        mase.Explainer(lstm, method="occlusion", n_samples=4)(TEXT)


@pytest.mark.parametrize("name", PROCEDURES)
def test_every_procedure_has_a_row(name):
    assert name in {describe(method).get("procedure", {}).get("name") for method in METHODS.values()}


def black_box(texts):
    return [[0.7 - 0.2 * ("good" in text), 0.3 + 0.2 * ("good" in text)] for text in texts]


def test_a_substitute_for_a_black_box_keeps_what_was_changed():
    value = resolve("mase-nlgp", link="margin", n_samples=77, estimator="lasso")
    kept = mase.Explainer(black_box, method=value).method
    by_string = mase.Explainer(black_box, method="mase-nlgp+link=margin+n_samples=77+estimator=lasso").method
    assert describe(kept) == describe(by_string)
    assert (kept.link, kept.n_samples, describe(kept)["estimator"]["name"]) == ("margin", 77, "lasso")
    for method in ("mase-nlgp+sigma=0.3", resolve("mase-nlgp", sigma=0.3)):
        with pytest.raises(CapabilityError, match="sigma was given for method 'mase-nlgp', which scales embeddings"):
            mase.Explainer(black_box, method=method)
    masks = mase.Explainer(black_box, method="mase-sparse+space=token-mask+design=bernoulli").method
    assert (masks.name, masks.space.binary) == ("mase-sparse", True)
