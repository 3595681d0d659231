"""What a metric is: numbers from one text, the scores of its words and the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from mase.arrays import Floats
from mase.metrics.masking import Masker
from mase.models.protocol import Model

__all__ = ["Better", "Case", "Column", "Metric", "Rescore"]

Better = Literal["higher", "lower"]
# Scores `(w,)` of the words of the case's text by the same method, of this model and with this seed.
Rescore = Callable[[Model, int], Floats]


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a metric: its name, which direction is better, whether it is a share of texts (each 0 or 1).

    `headline` columns are shown in tables; all are written to files.
    """

    name: str
    better: Better
    share: bool = False
    headline: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """One text with the scores of its words: what a metric judges.

    Attributes
    ----------
    model, text
        The model and the text that was explained.
    target
        Index of the explained class.
    masker
        The model bound to the text, with the operator that takes words out.
    scores
        `(w,)`: scores of the masker's words, positive for the target.
    seed
        Of what a metric draws.
    rescore
        Makes the scores anew; None for scores that were made elsewhere.
    """

    model: Model
    text: str
    target: int
    masker: Masker
    scores: Floats
    seed: int = 0
    rescore: Rescore | None = None

    @property
    def whole(self) -> float:
        """Probability of the target for the text itself."""
        return float(self.masker.whole[self.target])


class Metric(Protocol):
    """A metric: its fields are its settings, its columns the numbers that it gives for one text.

    Attributes
    ----------
    needs_rescore
        Whether it has to make scores anew, which it cannot for scores that were made elsewhere.
    """

    needs_rescore: ClassVar[bool]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The m numbers that it gives."""
        ...

    def judge(self, case: Case) -> Floats:
        """Return the m numbers of one text `(m,)`; NaN where one has no value."""
        ...
