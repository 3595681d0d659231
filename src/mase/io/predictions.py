"""Check that a prediction is consistent with itself."""

import math
from collections.abc import Iterable, Iterator

from mase.attribution import Prediction

__all__ = ["HALF_PRECISION", "listed", "prediction_problems"]

HALF_PRECISION = 1e-2  # how far outside of [0, 1] the probabilities of models in half precision may be
_ROUNDING = 1e-9


def prediction_problems(path: str, prediction: Prediction) -> Iterator[str]:
    """Yield the problems of the prediction."""
    by_label, label = prediction.probabilities, prediction.label
    if prediction.values:
        yield from _values(path, prediction)
        return
    for name, probability in by_label.items():
        if not -HALF_PRECISION <= probability <= 1 + HALF_PRECISION:
            yield f"{path}: probability of {name!r:.40} is {probability:g}, expected a number from 0 to 1"
    if label not in by_label:
        yield f"{path}: 'label' is {label!r:.40}, expected one of {listed(by_label)}"
    if list(by_label).index(label) != prediction.index:
        expected = list(by_label).index(label)
        yield f"{path}: 'index' is {prediction.index!r:.20}, expected {expected}, the index of {label!r:.40}"
    best = max(by_label, key=lambda name: by_label[name])
    if not by_label[label] >= by_label[best] - _ROUNDING:
        yield f"{path}: 'label' is {label!r:.40}, expected {best!r:.40}, the most probable class"
    stated, of_label = prediction.probability, by_label[label]
    if stated is None or not math.isclose(stated, of_label, rel_tol=1e-6, abs_tol=1e-9):
        yield f"{path}: 'probability' is {stated!r:.20}, expected {of_label:g}, the probability of {label!r:.40}"


def _values(path: str, prediction: Prediction) -> Iterator[str]:
    """Yield the problems of the prediction of a model of values, which has no probabilities."""
    for name, value in prediction.values.items():
        if not math.isfinite(value):
            yield f"{path}: value of {name!r:.40} is {value}, expected a finite number"
    if prediction.probabilities or prediction.probability is not None:
        yield f"{path} has 'values' and a probability, expected one of both: a value has no probability"
    names = list(prediction.values)
    largest = max(names, key=lambda name: prediction.values[name])
    possible = [(name, names.index(name)) for name in (names[0], largest)]
    if (prediction.label, prediction.index) not in possible:
        yield (
            f"{path}: 'label' is {prediction.label!r:.40} with index {prediction.index!r:.20}, expected "
            f"{names[0]!r:.40}, the first value, or {largest!r:.40}, the largest, with its index"
        )


def listed(labels: Iterable[str]) -> str:
    """Return the labels that a name has to be one of, for messages."""
    return f"the labels in 'probabilities', {', '.join(list(labels)[:5]):.200}"
