"""What a run holds and how far it can be trusted: counts, predictions, quality of fit, notes and failures."""

from dataclasses import dataclass

__all__ = ["Confusion", "Distribution", "Failures", "NoteCount", "Overview", "PredictedClass"]


@dataclass(frozen=True, slots=True)
class Overview:
    """What was explained, by which model and method, and at what cost.

    Attributes
    ----------
    model, method
        Their names in the manifest of the run.
    n_texts, n_explained, n_failed
        Texts in finished parts; texts with scores; texts that could not be explained.
    n_distinct
        Explained texts that differ from each other. A repeated text counts once in every table of words. Repetition
        is not found in a run without documents.
    n_units
        Scored units (words, or what the run was asked to score) of all explained texts, once per text.
    n_queries
        Evaluations of the model.
    accuracy
        Share of the explained texts with a label whose prediction is the label. None without a label column.
    n_labelled
        Explained texts whose label is a class of the model; 0 without a label column.
    against
        The class that the explained ones are compared with; None for no contrast.
    n_other_labels
        Explained texts whose label is no class of the model. They count as texts without a label, because no
        prediction of the model can be right for them.
    n_left
        Texts in the parts that are not finished, about which the summary says nothing; 0 for a finished run.
    reliable
        Share of the explanations (texts and responses) with the verdict *reliable*; None for a run of an earlier
        version.
    """

    model: str
    method: str
    n_texts: int
    n_explained: int
    n_failed: int
    n_distinct: int
    n_units: int
    n_queries: int
    accuracy: float | None = None
    n_labelled: int = 0
    against: str | None = None
    n_other_labels: int = 0
    n_left: int = 0
    reliable: float | None = None


@dataclass(frozen=True, slots=True)
class PredictedClass:
    """A predicted class: its number of explained texts, their share, and the mean probability of the class in them.

    `probability` is None for a model of values, of which `prediction` is the name of the first.
    """

    prediction: str
    n_texts: int
    share: float
    probability: float | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of a measure of quality over the n texts (for both R2: texts and responses) that have one.

    `name` is ``r2`` (share of the response's variance that the scores explain), ``r2_held_out`` (the same in rows that
    the fit left out), ``split_half`` (agreement of two halves of the sample on the strongest words) or ``probability``
    (of the predicted class).
    """

    name: str
    n: int
    mean: float
    minimum: float
    q10: float
    q25: float
    median: float
    q75: float
    q90: float
    maximum: float


@dataclass(frozen=True, slots=True)
class NoteCount:
    """A note: its code, one of its messages, and the number and share of the explained texts that have it."""

    code: str
    n_texts: int
    share: float
    message: str


@dataclass(frozen=True, slots=True)
class Failures:
    """The texts that failed with an error: the name of its type, their number, and id and message of the first."""

    error: str
    n_texts: int
    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """The explained texts with a label and a prediction.

    `share` is relative to the texts with this label, and `probability` is the mean probability of the prediction.
    """

    label: str
    prediction: str
    n_texts: int
    share: float
    probability: float
