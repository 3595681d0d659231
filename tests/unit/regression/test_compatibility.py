"""Tests of `mase.regression.compatibility`."""

import pytest

import mase
from mase.errors import OptionError
from mase.estimators import ESTIMATORS
from mase.methods import METHODS

TEXT = "A dull start, but the last hour is wonderful"
KNOWS_THE_TEXT = {name for name in ESTIMATORS if ESTIMATORS.build(name).needs_base}
NEEDS_GRADIENTS = {name for name in ESTIMATORS if ESTIMATORS.build(name).needs_gradients}


@pytest.mark.parametrize("estimator", sorted(set(ESTIMATORS) - KNOWS_THE_TEXT - NEEDS_GRADIENTS))
def test_words_masked_one_at_a_time_do_not_determine_an_intercept(lstm, estimator):
    explainer = mase.Explainer(lstm, design="leave-one-out", estimator=estimator)
    with pytest.raises(OptionError, match="a design of 9 different rows, expected more than 9"):
        explainer(TEXT)


def test_words_masked_one_at_a_time_are_those_of_occlusion_with_its_estimator(lstm):
    found = mase.explain(TEXT, lstm, design="leave-one-out", estimator="moment", link="margin")
    assert found.scores.tolist() == mase.explain(TEXT, lstm, method="occlusion", link="margin").scores.tolist()


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"deep-shap"}))
def test_every_method_explains_a_single_word(lstm, name):
    assert len(mase.explain("wonderful", lstm, method=name).scores) == 1
