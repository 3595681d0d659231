"""Tests of `mase.methods`."""

import numpy as np
import pytest

import mase
from mase.errors import OptionError
from mase.measure import measure
from mase.methods import METHODS, describe, resolve
from mase.procedures import PROCEDURES
from mase.regression.stopping import Stopping
from mase.testing import smooth

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
            mase.Explainer(lstm, method="partition-shap", **rules)(TEXT)
    assert measure(smooth(4), resolve("partition-shap", link="logit"), 0, np.random.default_rng(0), stopping=Stopping())


def test_rows_that_stand_still_need_gradients(lstm):
    with pytest.raises(OptionError, match="do not deviate"):
        mase.Explainer(lstm, method="integrated-gradients", estimator="least-squares")(TEXT)


def test_occlusion_needs_a_row_for_every_word(lstm):
    with pytest.raises(OptionError, match="n_samples leaves 4 for the scores, expected at least 19"):
        mase.Explainer(lstm, method="occlusion", n_samples=4)(TEXT)


@pytest.mark.parametrize("name", PROCEDURES)
def test_every_procedure_has_a_row(name):
    assert name in {describe(method).get("procedure", {}).get("name") for method in METHODS.values()}
