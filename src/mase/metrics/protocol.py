"""What a metric is: numbers from one text, the scores of its words and the model."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from mase.arrays import Floats, Ints
from mase.attribution import ranking
from mase.metrics.masking import Masker
from mase.models.protocol import Model

__all__ = ["Better", "Column", "Instance", "Memory", "Metric", "Rescore", "TopWords"]

T = TypeVar("T")

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
class Memory:
    """What metrics found out about one text that does not depend on the scores: all methods of the text share it."""

    known: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave when it was first called for this key."""
        if key not in self.known:
            self.known[key] = make()
        found: T = self.known[key]
        return found


@dataclass(frozen=True, slots=True)
class Instance:
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
    order
        `(w,)`: indices of the words, best first; None for the ranking of the scores.
    memory
        Of what metrics ask about the text whatever the scores; the cases of one text, seed and model share it.
    """

    model: Model
    text: str
    target: int
    masker: Masker
    scores: Floats
    seed: int = 0
    rescore: Rescore | None = None
    order: Ints | None = None
    memory: Memory = field(default_factory=Memory, repr=False)

    @property
    def ranked(self) -> Ints:
        """Indices `(w,)` of the words, best first: what metrics that take words out follow."""
        return ranking(self.scores) if self.order is None else self.order

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

    def evaluate(self, instance: Instance) -> Floats:
        """Return the m numbers of one text `(m,)`; NaN where one has no value."""
        ...


@runtime_checkable
class TopWords(Protocol):
    """A metric one of whose settings is the numbers of words to take out, those of highest score first.

    Attributes
    ----------
    ks
        The numbers; the command's `--k` replaces them.
    """

    ks: tuple[int, ...]
