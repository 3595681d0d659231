"""The adapter for estimators and pipelines of scikit-learn, and other objects with their methods, as black boxes."""

import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax

from mase.defaults import is_real
from mase.errors import CapabilityError, MaseError, MaseWarning, ModelError, OptionError
from mase.links import FLOOR
from mase.models.base import Model
from mase.models.description import Description, Guess
from mase.models.function import Callable, OfFrames, columns_of
from mase.models.scores import without_words

# The smallest probability that a logarithm gives, below which those of estimators in float32 are not exact, and below
# which 1 - p has lost digits.
_SMALLEST, _INEXACT, _LOST = 1e-300, 1e-37, 1e-12
_DEEPEST = 10  # pipelines and searches inside one another
_JOIN = "pass sklearn.pipeline.make_pipeline(vectorizer, estimator)"


@dataclass(frozen=True, slots=True)
class ScikitLearnAdapter:
    """Accept fitted estimators and pipelines that take texts, records or data frames."""

    understands: ClassVar[str] = "a fitted estimator of scikit-learn that reads texts"

    def recognises(self, model: object) -> bool:
        """Return whether the object has the methods of an estimator; a callable object also needs `classes_`."""
        if _has(model, "predict_proba") and getattr(model, "classes_", None) is not None:
            return True
        return not callable(model) and (_has(model, "predict_proba") or _has(model, "predict"))

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Model:
        """Return the estimator as a black box; see `scikit_learn`.

        Raises
        ------
        OptionError
            If a tokenizer is given as well.
        """
        if tokenizer is not None:
            raise OptionError(
                f"tokenizer is of type {type(tokenizer).__name__} beside an estimator, expected None, because an "
                f"estimator reads texts by itself; leave the tokenizer out, and {_JOIN} if it reads features"
            )
        return scikit_learn(model, name=name)


def scikit_learn(estimator: Any, *, name: str | None = None) -> Callable:
    """Return a fitted estimator as a black box over texts.

    - A classifier with `predict_proba` has probabilities of its `classes_`. Several questions with two answers each, as
      of a `MultiOutputClassifier`, become separate labels.
    - A classifier with only a `decision_function`, such as `LinearSVC`, has scores: the class with the largest one is
      predicted, and there are no probabilities. Of two classes, the score of the first is that of the second times -1.
    - A regressor has the values that it predicts.

    A classifier that decides by a threshold of its own, such as a `FixedThresholdClassifier`, is explained by its
    scores, of which the largest is the prediction. A `MaseWarning` says so, and the description of the model.

    An estimator that was fitted on a data frame, such as a pipeline that begins with a `ColumnTransformer`, gets data
    frames with the same columns; any other one gets lists of texts, or of records for documents of several fields.

    Parameters
    ----------
    estimator
        A pipeline from texts to classes or values, or any estimator that takes a list of str.
    name
        Name for provenance; the name of its class by default.
    """
    kind = type(estimator).__name__
    if _has(estimator, "predict_proba"):
        labels, multilabel = _questions(estimator, kind)
        function, floor = _asked(estimator, estimator.predict_proba), FLOOR
        if not multilabel and (logarithms := _logarithms(estimator)) is not None:
            function, floor = _WithLogarithms(function, *logarithms), _SMALLEST
        return _box(estimator)(function, labels, multilabel=multilabel, floor=floor, name=name or kind)
    if _is(estimator, "regressor"):
        return Callable(_asked(estimator, estimator.predict), outputs="values", name=name or kind)
    if not _has(estimator, "decision_function"):
        raise CapabilityError(
            f"{kind} has no predict_proba and no decision_function, expected a classifier with one of them, or a "
            f"regressor; {_remedy(estimator)}"
        )
    if getattr(_last(estimator), "decision_function_shape", None) == "ovo":
        raise CapabilityError(
            f"the decision_function of {kind} compares pairs of classes (decision_function_shape='ovo'), expected one "
            "score per class; set decision_function_shape='ovr'"
        )
    labels, multilabel = _questions(estimator, kind)
    function = _asked(estimator, estimator.decision_function)
    if multilabel:  # a label is predicted where its score is positive, as where its logit is
        return _box(estimator)(function, labels, outputs="logits", multilabel=True, name=name or kind)
    if len(labels) == 2:
        function = _ScoresOfBoth(function)
    return _box(estimator)(function, labels, outputs="scores", name=name or kind)


def _remedy(estimator: Any) -> str:
    """Return what to do with an estimator that has neither probabilities nor scores."""
    if _is(estimator, "clusterer"):
        return (
            "it is a clusterer: pass mase.models.Callable with a function that returns a score for each cluster, such "
            "as -estimator.transform(texts) of KMeans, and outputs='scores'"
        )
    if getattr(_last(estimator), "voting", None) == "hard":
        return "set voting='soft', which returns probabilities"
    return (
        "put it into sklearn.calibration.CalibratedClassifierCV, or pass mase.models.Callable with a function from "
        "texts to probabilities"
    )


class _OfThreshold(Callable):
    """An estimator whose own predictions follow a threshold, which its scores do not tell."""

    @property
    def opened_as(self) -> str:
        """Name of the class that takes the options which messages name."""
        return Callable.__name__

    @property
    def description(self) -> Description:
        """What the estimator was taken for; that the largest score is predicted is a guess."""
        remedy = "compare the probabilities, which are those of the estimator, with its threshold"
        guess = Guess("the class with the largest score is predicted, not by the threshold of the estimator", remedy)
        result = super().description
        return replace(result, guesses=(*result.guesses, guess))


def _box(estimator: Any) -> type[Callable]:
    """Return the class of the black box of a classifier; of a threshold that it decides by, a warning tells."""
    last = _last(estimator)
    threshold = getattr(last, "best_threshold_", getattr(last, "threshold", None))
    if not is_real(threshold) or _trained_itself(last):  # "auto" is what the largest score says, too
        return Callable
    warnings.warn(
        f"{type(last).__name__} decides by the threshold {threshold:.3g}, which mase does not follow: predictions of "
        "mase are the class with the largest score",
        MaseWarning,
        stacklevel=3,
    )
    return _OfThreshold


def _trained_itself(estimator: Any) -> bool:
    """Return whether an estimator labelled some of its training texts, which its threshold chose."""
    module = sys.modules.get("sklearn.semi_supervised")
    return module is not None and isinstance(estimator, module.SelfTrainingClassifier)


def _questions(estimator: Any, kind: str) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether they are separate questions."""
    classes = getattr(estimator, "classes_", None)
    if classes is None and _is(estimator, "outlier_detector"):
        raise CapabilityError(
            f"{kind} detects outliers and has no classes, expected a classifier; to explain its scores, pass "
            "mase.models.Callable(estimator.decision_function, outputs='values')"
        )
    if classes is None:
        raise OptionError(
            f"{kind} has no classes_, expected a fitted estimator; fit it, or pass its function predict_proba"
        )
    if not any(np.ndim(label) for label in classes):
        return [str(label) for label in classes], _of_indicators(_last(estimator))
    if any(len(answers) > 2 for answers in classes):
        raise OptionError(
            f"{kind} answers several questions at once, expected two answers to each, or one list of classes_; pass "
            "mase.models.Callable with a function that returns the probabilities of one question"
        )
    if len(classes) == 1 and len(classes[0]) == 2:
        return [str(answer) for answer in classes[0]], False
    if all(len(answers) == 1 for answers in classes):
        raise OptionError(f"{kind} was fitted on texts that have all the same labels, expected different answers")
    names = [str(answers[-1]) for answers in classes]
    if len(set(names)) < len(names) or any(len(answers) == 1 for answers in classes):  # such as 1 for each of them
        names = [str(index) for index in range(len(names))]
    return names, True


def _of_indicators(estimator: Any) -> bool:
    """Return whether a classifier was fitted on an indicator matrix; most say so by what made numbers of the labels."""
    of_labels = getattr(getattr(estimator, "_label_binarizer", None), "y_type_", "")
    return bool(getattr(estimator, "multilabel_", False)) or of_labels.startswith("multilabel")


@dataclass(frozen=True, slots=True)
class _SecondAnswers:
    """A function that returns probabilities `(n, 2)` for each of k questions, as one of the second answers `(n, k)`.

    A question to which all training texts have the same answer, of `classes`, has one column.
    """

    function: Any
    classes: Any

    @property
    def __self__(self) -> Any:
        return self.function.__self__

    def __call__(self, texts: Any) -> Any:
        result = self.function(texts)
        if not isinstance(result, list):
            return result
        return np.stack([_second(*pair) for pair in zip(result, self.classes, strict=True)], axis=1)


def _second(answers: Any, classes: Any) -> Any:
    """Return the probabilities `(n,)` of the second of two answers; of a single one, it is the first unless it is 0."""
    return answers[:, 1] if len(classes) == 2 else answers[:, 0] * (str(classes[0]) not in ("0", "0.0", "False"))


@dataclass(frozen=True, slots=True)
class _ScoresOfBoth:
    """A function that returns scores `(n,)` of the second of two classes, as those of both `(n, 2)`."""

    function: Any

    @property
    def __self__(self) -> Any:
        return self.function.__self__

    def __call__(self, texts: Any) -> Any:
        second = np.asarray(self.function(texts)).reshape(-1, 1)
        return np.concatenate([0 - second, second], axis=1)


@dataclass(frozen=True, slots=True)
class _LogSoftmax:
    """A function that returns scores `(n, k)`, or `(n,)` of the second of two classes, as log-probabilities."""

    function: Any

    def __call__(self, texts: Any) -> Any:
        scores = np.asarray(self.function(texts), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.stack([np.zeros(len(scores)), scores], axis=1)
        return log_softmax(scores, axis=1)


def _logarithms(estimator: Any) -> tuple[Any, float] | None:
    """Return a function of log-probabilities, and below which probability they tell more; None if none do.

    Most estimators only take the logarithms of their probabilities. Naive Bayes classifiers compute logarithms first,
    and the scores of a logistic regression are those of a softmax.
    """
    last, linear = _last(estimator), sys.modules.get("sklearn.linear_model")
    if _has(estimator, "predict_log_proba") and _has(last, "predict_joint_log_proba"):
        return _asked(estimator, estimator.predict_log_proba), _INEXACT
    if linear is None or not _has(estimator, "decision_function"):
        return None
    several = len(estimator.classes_) > 2
    if isinstance(last, linear.LogisticRegression | linear.LogisticRegressionCV):
        is_softmax = getattr(last, "multi_class", "auto") in ("auto", "deprecated", "multinomial" if several else "ovr")
        is_softmax = is_softmax and not (several and last.solver == "liblinear")
    else:
        is_softmax = isinstance(last, linear.SGDClassifier) and last.loss == "log_loss" and not several
    return (_LogSoftmax(_asked(estimator, estimator.decision_function)), _LOST) if is_softmax else None


@dataclass(frozen=True, slots=True)
class _WithLogarithms:
    """A function that returns probabilities `(n, k)`, of which those below a number are those of the logarithms."""

    function: Any
    logarithms: Any
    inexact: float

    @property
    def __self__(self) -> Any:
        return self.function.__self__

    def __call__(self, texts: Any) -> Any:
        result = self.function(texts)
        if not isinstance(result, np.ndarray) or result.ndim != 2:
            return result
        rows = np.flatnonzero((result < self.inexact).any(axis=1))
        if not len(rows):
            return result
        with np.errstate(divide="ignore"):  # some estimators take the logarithm of 0
            logarithms = np.asarray(self.logarithms([texts[row] for row in rows]), dtype=np.float64)
        exact = np.where(np.isfinite(logarithms), np.exp(np.maximum(logarithms, np.log(_SMALLEST))), 0.0)
        whole = np.array(result, dtype=np.float64)
        whole[rows] = np.where(whole[rows] < self.inexact, exact, whole[rows])
        return whole


@dataclass(frozen=True, slots=True)
class _OfFeatures:
    """A function of an estimator that was fitted on a matrix: it may fail with texts, in words about its shape."""

    function: Any
    n_features: int

    @property
    def __self__(self) -> Any:
        return self.function.__self__

    def __call__(self, texts: Any) -> Any:
        try:
            return self.function(texts)
        except (MaseError, MemoryError):
            raise
        except Exception as error:
            if without_words(texts):  # perhaps it reads texts, but none without words: `Callable` says what to do
                raise
            kind, reason = type(self.__self__).__name__, " ".join(str(error).split())
            raise ModelError(
                f"{kind} was fitted on a matrix of {self.n_features} features, expected an estimator that reads texts "
                f"or a data frame; {_JOIN} ({type(error).__name__}: {reason:.200})"
            ) from error


def _asked(estimator: Any, function: Any) -> Any:
    """Return a method of an estimator as a function of a list of inputs."""
    if any(np.ndim(label) for label in getattr(estimator, "classes_", ())):
        function = _SecondAnswers(function, estimator.classes_)
    columns, n_features = columns_of(estimator), getattr(estimator, "n_features_in_", None)
    if columns is not None:
        return OfFrames(function, columns)
    return function if n_features is None else _OfFeatures(function, n_features)


def _last(estimator: Any) -> Any:
    """Return the estimator at the end of pipelines and searches."""
    for _ in range(_DEEPEST):
        inner = getattr(estimator, "best_estimator_", None)
        inner = getattr(estimator, "_final_estimator", None) if inner is None else inner
        if inner is None:
            break
        estimator = inner
    return estimator


def _is(estimator: Any, kind: str) -> bool:
    base = sys.modules.get("sklearn.base")
    return base is not None and _has(estimator, "predict") and bool(getattr(base, f"is_{kind}")(estimator))


def _has(model: Any, method: str) -> bool:
    return callable(getattr(model, method, None))
