"""Tests of `mase.models.adapters.scikit_learn`."""

import numpy as np
import pytest

import mase
from mase.errors import CapabilityError, ModelError, OptionError
from mase.metrics.evaluator import Evaluator
from mase.models import Callable, adapt

LEARNT = (
    ["a good film", "a dull film", "good", "dull , dull", "a law", "the law"],
    ["pos", "neg", "pos", "neg", "law", "law"],
)


def pipeline(last, answers=LEARNT[1]):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), last).fit(LEARNT[0], answers)


def test_a_pipeline_is_a_model_with_its_classes():
    from sklearn.linear_model import LogisticRegression

    fitted = pipeline(LogisticRegression())
    model = adapt(fitted)
    assert model.labels == ("law", "neg", "pos")
    assert model.predict(LEARNT[0]).tolist() == fitted.predict_proba(LEARNT[0]).tolist()
    found = mase.Explainer(fitted, n_samples=100)("a good film , no law")
    assert found.target in ("pos", "law")
    assert found.model["name"] == "Pipeline"
    assert mase.Explainer(fitted, n_samples=100)("a good film", target="pos").top(1)[0].text == "good"
    assert adapt(pipeline(LogisticRegression(), [0, 1, 0, 1, 2, 2])).labels == ("0", "1", "2")
    assert Evaluator(fitted, methods=["occlusion"])("a good film").target == 2


def test_estimators_that_cannot_be_explained_say_what_to_do():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    with pytest.raises(CapabilityError, match=r"CalibratedClassifierCV.*mase\.models\.Callable"):
        mase.Explainer(pipeline(LinearSVC()))
    with pytest.raises(CapabilityError, match="predict_proba"):
        adapt(pipeline(LinearRegression(), range(6)))
    with pytest.raises(OptionError, match="fitted"):
        adapt(make_pipeline(CountVectorizer(), LogisticRegression()))
    with pytest.raises(OptionError, match="several questions"):
        adapt(pipeline(RandomForestClassifier(2), [["a", "x"], ["b", "y"]] * 3))
    with pytest.raises(OptionError, match="LogisticRegression"):
        adapt(LogisticRegression)


@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_a_decision_function_is_no_probability(outputs):
    """Even where all of its distances happen to lie between 0 and 1."""
    from sklearn.svm import LinearSVC

    fitted = pipeline(LinearSVC(), [0, 1, 0, 1, 1, 1])
    if outputs == "probabilities":
        with pytest.raises(OptionError, match="outputs='logits'"):
            Callable(fitted.decision_function, ["no", "yes"])
        with pytest.raises(OptionError, match="predict_proba"):
            mase.Explainer(fitted.decision_function)
    else:
        model = Callable(fitted.decision_function, ["no", "yes"], outputs="logits")
        assert model.predict(["dull"])[0, 1] == pytest.approx(1 / (1 + np.exp(-fitted.decision_function(["dull"])[0])))


def test_predictions_of_an_estimator_are_no_probabilities():
    from sklearn.linear_model import LogisticRegression

    for answers in (LEARNT[1], [0, 1, 0, 1, 2, 2], [True, False] * 3):
        with pytest.raises(ModelError, match="predict_proba"):
            mase.Explainer(pipeline(LogisticRegression(), answers).predict)("a good film")
