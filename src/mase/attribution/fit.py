"""How far scores are to be trusted, and what they cost."""

from dataclasses import dataclass, field

from mase.choices import Precision

__all__ = ["Fit", "Note", "Precision"]


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that a reader of the scores must know: `code` for programs to count by, `message` for people.

    `unit` is the index of the unit that it is about, None where it is about the whole document. Notes carry no data:
    whatever code needs to know is a field.
    """

    code: str
    message: str
    unit: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """How repeatable the scores are and what they cost. How much they explain is `Response.r2`.

    Attributes
    ----------
    split_half
        How far two halves of the sample agree about the 8 strongest words (in a text of fewer than 16, its stronger
        half): the share of their summed absolute scores that belongs to words which a half also has among its own 8
        strongest, mean of both halves. None when a half is too small.
    condition
        Condition number of the design's second-moment matrix (relative to its distribution); 1 is ideal.
    n_queries, n_gradients
        Model evaluations (rows), forward only and with a backward pass.
    seconds
        Wall time of the explanation.
    precision
        In which precision the model was asked. The one that was asked for is among the settings of the method.
    """

    split_half: float | None
    condition: float | None
    n_queries: int
    n_gradients: int
    seconds: float = field(compare=False)
    precision: Precision = "float32"
