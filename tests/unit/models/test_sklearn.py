"""Tests of `mase.models.sklearn`."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import expit
from tests.hostile.texts import READABLE

import mase
from mase.attribution.json import dumps, loads
from mase.errors import CapabilityError, MaseWarning, ModelError, OptionError
from mase.metrics.evaluation import Evaluator
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
    from sklearn.cluster import KMeans
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC, LinearSVC

    separate = pipeline(MultiOutputClassifier(LinearSVC()), [[0, 1], [1, 0]] * 3)
    with pytest.raises(CapabilityError, match=r"CalibratedClassifierCV.*mase\.models\.Callable"):
        mase.Explainer(separate)
    with pytest.raises(CapabilityError, match="pairs of classes"):
        adapt(pipeline(SVC(decision_function_shape="ovo")))
    with pytest.raises(CapabilityError, match="score for each cluster"):
        adapt(pipeline(KMeans(2)))
    with pytest.raises(CapabilityError, match="voting='soft'"):
        adapt(pipeline(VotingClassifier([("a", LogisticRegression()), ("b", LinearSVC())])))
    with pytest.raises(OptionError, match="fitted"):
        adapt(make_pipeline(CountVectorizer(), LinearSVC()))
    with pytest.raises(OptionError, match="fitted"):
        adapt(make_pipeline(CountVectorizer(), LogisticRegression()))
    with pytest.raises(OptionError, match="several questions"):
        adapt(pipeline(RandomForestClassifier(2), [["a", "x"], ["b", "y"], ["c", "y"]] * 2))
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


@pytest.mark.parametrize("kind", ["machine", "ridge", "hinge", "rest", "search"])
def test_a_decision_function_gives_scores_without_probabilities(kind):
    from sklearn.linear_model import RidgeClassifier, SGDClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    last = {
        "machine": LinearSVC(), "ridge": RidgeClassifier(), "hinge": SGDClassifier(random_state=0),
        "rest": OneVsRestClassifier(LinearSVC()), "search": GridSearchCV(LinearSVC(), {"C": [0.5, 1.0]}, cv=2),
    }[kind]  # fmt: skip
    fitted = pipeline(last)
    text = "a good film , no law"
    distances = fitted.decision_function([text])[0]
    found = mase.Explainer(fitted, n_samples=200)(text)
    assert found.prediction.label == fitted.predict([text])[0]
    assert (found.prediction.probability, found.link) == (None, "value")
    assert list(found.prediction.values.values()) == distances.tolist()
    assert mase.Explainer(fitted, n_samples=200)(text, target="law").response == distances[0]


def test_the_coefficients_of_a_linear_decision_function_come_back():
    from sklearn.svm import LinearSVC

    for answers, labels in ((LEARNT[1], ("law", "neg", "pos")), (["no", "yes"] * 3, ("no", "yes"))):
        fitted = pipeline(LinearSVC(), answers)
        assert adapt(fitted).labels == labels
        found = mase.Explainer(fitted, n_samples=300)("good film law", target=labels[-1])
        columns = fitted[0].vocabulary_
        expected = [fitted[1].coef_[-1][columns[word]] for word in found.words]
        assert found.scores == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("text", ["good", "film"])
def test_of_two_classes_the_one_that_the_classifier_predicts_is_explained(text):
    from sklearn.svm import LinearSVC

    fitted = pipeline(LinearSVC(), ["no", "yes"] * 3)
    (distance,) = fitted.decision_function([text])
    found = mase.Explainer(fitted)(text, target="all")
    assert found.prediction.label == found.target == fitted.predict([text])[0]
    assert found.prediction.values == {"no": -distance, "yes": distance}
    assert found.of("no").response == -found.of("yes").response


def test_scores_of_classes_are_saved_with_the_largest_as_prediction(tmp_path):
    from sklearn.svm import LinearSVC

    found = mase.Explainer(pipeline(LinearSVC()), n_samples=64)("a good film")
    assert found.prediction.index == 2
    found.save(tmp_path / "found.json")
    assert mase.load(tmp_path / "found.json") == found


@pytest.mark.parametrize("kind", ["outputs", "chain", "rest", "forest"])
def test_several_questions_with_two_answers_are_separate_labels(kind):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

    last = {
        "outputs": MultiOutputClassifier(LogisticRegression()), "chain": ClassifierChain(LogisticRegression()),
        "rest": OneVsRestClassifier(LogisticRegression()), "forest": RandomForestClassifier(3, random_state=0),
    }[kind]  # fmt: skip
    fitted = pipeline(last, np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]))
    model = adapt(fitted)
    assert (model.labels, model.output.multilabel) == (("0", "1", "2"), True)
    raw = fitted.predict_proba(["a good film"])
    expected = [one[0, 1] for one in raw] if isinstance(raw, list) else raw[0]
    assert model.predict(["a good film"])[0] == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(model)).predict(["a good film"])[0] == pytest.approx(expected)
    if kind == "outputs":
        named = pipeline(MultiOutputClassifier(LogisticRegression()), [["no", "x"], ["spam", "y"]] * 3)
        assert adapt(named).labels == ("spam", "y")


INDICATORS = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])


@pytest.mark.parametrize("n_questions", [2, 3])
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_an_indicator_matrix_makes_separate_labels(n_questions):
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neural_network import MLPClassifier

    text, labels = "a good film", tuple(map(str, range(n_questions)))
    network = pipeline(MLPClassifier((4,), max_iter=5, random_state=0), INDICATORS[:, :n_questions])
    model = adapt(network)
    assert (model.labels, model.output.multilabel) == (labels, True)
    assert model.predict([text])[0] == pytest.approx(network.predict_proba([text])[0])
    ridge = pipeline(RidgeClassifier(), INDICATORS[:, :n_questions])
    assert (adapt(ridge).labels, adapt(ridge).output.multilabel) == (labels, True)
    assert adapt(ridge).predict([text])[0] == pytest.approx(expit(ridge.decision_function([text])[0]))


@pytest.mark.parametrize("kind", ["outputs", "chain"])
def test_one_question_has_both_answers_as_classes(kind):
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

    wrap = {"outputs": MultiOutputClassifier, "chain": ClassifierChain}[kind]
    model = adapt(pipeline(wrap(LogisticRegression()), INDICATORS[:, :1]))
    plain = pipeline(LogisticRegression(), INDICATORS[:, 0])
    assert (model.labels, model.output.multilabel) == (("0", "1"), False)
    assert model.predict(["a good film"]) == pytest.approx(plain.predict_proba(["a good film"]))


def test_a_threshold_that_is_not_followed_is_said():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV

    answers, inner = ["no", "yes"] * 3, LogisticRegression()
    for last in (
        FixedThresholdClassifier(inner, threshold=0.9),
        TunedThresholdClassifierCV(inner, cv=2),
        GridSearchCV(FixedThresholdClassifier(inner), {"threshold": [0.2]}, cv=2),
    ):
        fitted = pipeline(last, answers)
        with pytest.warns(MaseWarning, match="ThresholdClassifier.* decides by the threshold"):
            model = adapt(fitted)
        assert model.predict(["a good film"]) == pytest.approx(fitted.predict_proba(["a good film"]))
        assert "not by the threshold" in model.description.guesses[-1].what
        assert pickle.loads(pickle.dumps(model)).description == model.description
    assert not adapt(pipeline(FixedThresholdClassifier(inner), answers)).description.guesses


def test_a_threshold_of_training_decides_no_prediction():
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    fitted = pipeline(SelfTrainingClassifier(LogisticRegression(), threshold=0.9), [0, 1, 0, 1, -1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", MaseWarning)
        model = adapt(fitted)
    assert model.labels[model.predict(["a good film"])[0].argmax()] == str(fitted.predict(["a good film"])[0])
    assert not any("threshold" in guess.what for guess in model.description.guesses)


def test_a_regressor_has_values():
    from sklearn.linear_model import LinearRegression, Ridge

    fitted = pipeline(Ridge(), [3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    found = mase.Explainer(fitted, n_samples=300)("good film law")
    assert found.prediction.values == {"value": pytest.approx(fitted.predict(["good film law"])[0])}
    columns = fitted[0].vocabulary_
    assert found.scores == pytest.approx([fitted[1].coef_[columns[word]] for word in found.words], abs=1e-6)
    assert adapt(pipeline(LinearRegression(), np.eye(6)[:, :2])).labels == ("value 0", "value 1")


def test_calibrated_classifiers_and_searches_have_probabilities():
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    for last in (CalibratedClassifierCV(LinearSVC(), cv=2), search):
        fitted = pipeline(last)
        assert adapt(fitted).predict(LEARNT[0]).tolist() == fitted.predict_proba(LEARNT[0]).tolist()
    with pytest.raises(OptionError, match="fitted"):
        adapt(GridSearchCV(LogisticRegression(), {"C": [1.0]}))


@pytest.mark.parametrize("label", ["HTML", "Chinese", "right to left", "NUL", "emoji with joiners"])
def test_awkward_texts(label):
    from sklearn.svm import LinearSVC

    fitted = pipeline(LinearSVC())
    found = mase.Explainer(fitted, n_samples=16)(READABLE[label])
    assert list(found.prediction.values.values()) == fitted.decision_function([READABLE[label]])[0].tolist()


def test_what_has_no_classes_is_no_unfitted_classifier():
    from sklearn.svm import OneClassSVM

    fitted = pipeline(OneClassSVM())
    with pytest.raises(CapabilityError):
        adapt(fitted)
    text = "a good film"
    found = mase.Explainer(Callable(fitted.decision_function, outputs="values"))(text)
    assert found.response == pytest.approx(fitted.decision_function([text])[0])


def test_an_estimator_of_features_says_that_it_needs_its_vectorizer():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC

    vectorizer = CountVectorizer()
    features = vectorizer.fit_transform(LEARNT[0])
    for last, answers in ((LogisticRegression(), LEARNT[1]), (LinearSVC(), LEARNT[1]), (Ridge(), range(6))):
        fitted = last.fit(features, answers)
        with pytest.raises(ModelError, match=r"5 features.*make_pipeline"):
            mase.Explainer(pickle.loads(pickle.dumps(adapt(fitted))))("a good film")
        with pytest.raises(OptionError, match="make_pipeline"):
            mase.Explainer(fitted, vectorizer)


def test_an_estimator_of_texts_that_counts_features_is_not_told_to_read_texts():
    class Embedded:
        n_features_in_, classes_ = 8, ("bad", "good")

        def predict_proba(self, texts):
            if not all(text.strip() for text in texts):
                raise ValueError("empty text")
            return [[0.25, 0.75] if "good" in text else [0.75, 0.25] for text in texts]

    with pytest.raises(ModelError, match=r"empty text.*mask_token"):
        mase.Explainer(adapt(Embedded()), n_samples=20)("good film")


def test_scores_tell_which_class_is_predicted_without_words():
    from sklearn.svm import LinearSVC

    for answers in (LEARNT[1], ["yes", "no", "yes", "no", "no", "no"]):
        fitted = pipeline(LinearSVC(), answers)
        found = mase.Explainer(fitted, evidence=2)("good film")
        changed = found.evidence.without[0]
        left = " ".join(word for unit, word in enumerate(found.words) if unit not in changed.units)
        assert changed.label == fitted.predict([left])[0] != found.target
        assert (changed.probability, found.evidence.flip_set.probability) == (None, None)
        assert found.evidence.flip_set.label == changed.label
        assert f"without “good”: {changed.label}, the smallest set that flips it" in str(found)
        assert loads(dumps(found)) == found


def test_scores_of_separate_labels_are_separate_questions():
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    answers = np.array([["good" in text, "dull" in text, "a" in text.split()] for text in LEARNT[0]]).astype(int)
    fitted = pipeline(OneVsRestClassifier(LinearSVC()), answers)
    for text in ("a good law", "the law", "good dull"):
        found = mase.Explainer(fitted)(text)
        assert found.prediction.multilabel
        predicted = [probability >= 0.5 for probability in found.prediction.probabilities.values()]
        assert predicted == fitted.predict([text])[0].astype(bool).tolist()


def test_labels_that_are_floats_are_named_by_whole_numbers():
    from sklearn.linear_model import LogisticRegression

    fitted = pipeline(LogisticRegression(), [1.0, 2.0] * 3)
    for target in (1, 1.0, "1.0"):
        assert mase.Explainer(fitted)("good film", target=target).target == "1.0"
    assert mase.Explainer(fitted)("good film", target=0).target == "1.0"  # an index, as no label reads so


@pytest.mark.parametrize("link", ["margin", "logit"])
@pytest.mark.parametrize("size", [3.0, 40.0, 300.0])
def test_a_logistic_regression_is_explained_by_its_log_odds_however_sure_it_is(link, size):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    weights = {"superb": size, "good": 1.0, "nice": 1.0, "dull": -1.0}
    fitted = make_pipeline(CountVectorizer(vocabulary=list(weights)), LogisticRegression())
    fitted.fit([*weights], [1, 1, 1, 0])
    fitted[-1].coef_, fitted[-1].intercept_ = np.array([[*weights.values()]]), np.zeros(1)
    found = mase.explain(" ".join(weights), fitted, link=link)
    assert found.response == pytest.approx(size + 1, rel=1e-3)
    assert found.scores == pytest.approx([*weights.values()], rel=0.01, abs=1e-3)
    assert not [note for note in found.notes if note.code == "floored"]


def test_classes_of_a_logistic_regression_keep_their_logarithms():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    fitted = make_pipeline(CountVectorizer(), LogisticRegression()).fit(["a1", "b1", "c1"], ["a", "b", "c"])
    fitted[-1].coef_ = 60 * np.eye(3)
    found = mase.explain("a1 b1 a1", fitted, link="margin")
    assert found.response == pytest.approx(60, abs=1e-6)


def test_a_share_of_no_vote_is_floored_as_that_of_a_function():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    texts, labels = ["good film", "nice plot", "bad film", "dull plot"] * 3, ["pos", "pos", "neg", "neg"] * 3
    forest = make_pipeline(CountVectorizer(), RandomForestClassifier(20, random_state=0, bootstrap=False))
    forest.fit(texts, labels)
    for link in ("margin", "logit"):
        found, by_function = (
            mase.explain("good nice film plot", model, link=link) for model in (forest, Callable(forest.predict_proba))
        )
        assert (found.response, found.scores.tolist()) == (by_function.response, by_function.scores.tolist())
        assert "floored" in {note.code for note in found.notes}
