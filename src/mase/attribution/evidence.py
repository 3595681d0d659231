"""Evidence: what the model predicts without the best units, and from them alone."""

from dataclasses import dataclass

__all__ = ["Changed", "Evidence", "FlipSet"]


@dataclass(frozen=True, slots=True)
class Changed:
    """The prediction for a changed document.

    Attributes
    ----------
    units
        Indices of the units that are masked (or kept, while all others are masked), best first.
    label, probability
        The most probable class and its probability; of separate questions (multi-label), those of the explained class;
        for a model of values, the explained one and None.
    target_probability
        Probability of the explained class; None for a value.
    response
        The explained number: the link of the explained class, or the value.
    """

    units: tuple[int, ...]
    label: str
    probability: float | None
    target_probability: float | None
    response: float


@dataclass(frozen=True, slots=True)
class FlipSet:
    """A small set of units whose masking changes the prediction.

    Of separate questions (multi-label), the explained class is predicted if its probability is at least 0.5.

    It is the shortest beginning of the order that changes the prediction, without units that are not needed for that.
    Units are put back one at a time until no evaluations are left for it, so one that is not needed may remain.

    Attributes
    ----------
    units
        Their indices, in the order of the response.
    label, probability
        The most probable class without them, and its probability; of separate questions, those of the explained class.
    smallest
        Whether the model was asked for every smaller set, and none changes the prediction.
    """

    units: tuple[int, ...]
    label: str
    probability: float
    smallest: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """A test of the scores on the model itself.

    Attributes
    ----------
    without
        Predictions with the best 1, 2, ... K units masked.
    only
        Predictions with only the best 1, 2, ... K units kept.
    flip_set
        A small set of units whose masking changes the prediction. None if none was found, if the explained class is
        not the predicted one, or if the model returns values.
    response
        Name of the response whose units were tested: the leading one, if there are several.
    """

    without: tuple[Changed, ...]
    only: tuple[Changed, ...]
    flip_set: FlipSet | None
    response: str | None = None
