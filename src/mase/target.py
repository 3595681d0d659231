"""The class that is explained."""

import re
from collections.abc import Sequence

import numpy as np

from mase.errors import OptionError
from mase.registry import unknown

__all__ = ["target_index"]


def target_index(labels: Sequence[str], target: str | int | None, predicted: int) -> int:
    """Return the index of the target class.

    Parameters
    ----------
    labels
        Names of the k classes, or of the values of a model without classes.
    target
        A label or an index; a string of digits that is not a label is an index. None for the predicted class.
    predicted
        Index of the predicted class; of a model of values, of its first value.

    Raises
    ------
    OptionError
        If the target is neither a label nor the index of a class.
    UnknownNameError
        If the label is unknown.
    """
    if target is None:
        return predicted
    if isinstance(target, str) and target in labels:
        return labels.index(target)
    if isinstance(target, str) and not re.fullmatch(r"-?[0-9]+", target):
        raise unknown("target", target, list(labels))
    if isinstance(target, bool) or not isinstance(target, int | str | np.integer):
        raise OptionError(f"target is of type {type(target).__name__}, expected a label, an index or None")
    index = int(target)
    if not 0 <= index < len(labels):
        raise OptionError(f"target is {index}, expected an index from 0 to {len(labels) - 1} or one of the labels")
    return index
