"""The adapter for estimators and pipelines of scikit-learn, and other objects with their methods, as black boxes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mase.errors import CapabilityError, OptionError
from mase.models.callable import Callable
from mase.models.frames import OfFrames, columns_of
from mase.models.protocol import Model

__all__ = ["ScikitLearnAdapter", "scikit_learn"]


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
        """Return the estimator as a black box; see `scikit_learn`."""
        del tokenizer
        return scikit_learn(model, name=name)


def scikit_learn(estimator: Any, *, name: str | None = None) -> Callable:
    """Return a fitted text classifier as a black box that uses its `predict_proba` and `classes_`.

    An estimator that was fitted on a data frame, such as a pipeline that begins with a `ColumnTransformer`, gets data
    frames with the same columns; any other one gets lists of texts, or of records for documents of several fields.

    Parameters
    ----------
    estimator
        A pipeline from texts to classes, or any estimator that takes a list of str.
    name
        Name for provenance; the name of its class by default.

    Raises
    ------
    CapabilityError
        If it has no `predict_proba`.
    OptionError
        If it is not fitted, or its classes are not one list.
    """
    kind = type(estimator).__name__
    if not _has(estimator, "predict_proba"):
        raise CapabilityError(
            f"{kind} has no predict_proba, expected a classifier with probabilities; put it into "
            "sklearn.calibration.CalibratedClassifierCV, or, if its decision_function is a logit, pass "
            "mase.models.Callable(model.decision_function, labels=[...], outputs='logits')"
        )
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise OptionError(
            f"{kind} has no classes_, expected a fitted estimator; fit it, or pass its function predict_proba"
        )
    if any(np.ndim(label) for label in classes):
        raise OptionError(
            f"{kind} answers several questions at once, expected one list of classes_; pass mase.models.Callable with "
            "a function that returns the probabilities of one question"
        )
    columns, function = columns_of(estimator), estimator.predict_proba
    if columns is not None:
        function = OfFrames(function, columns)
    return Callable(function, [str(label) for label in classes], name=name or kind)


def _has(model: Any, method: str) -> bool:
    return callable(getattr(model, method, None))
