"""Whether a model answers the same text in the same way: anew, and beside other texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mase.attribution import Note
from mase.regression.problem import Estimate

__all__ = ["Consistency", "Kind", "note"]

Kind = Literal["not-deterministic", "batch-dependent"]

# Two answers are the same if they differ by less than these shares of the largest score, and of the response: by
# rounding.
_OF_SCORES, _OF_RESPONSE = 1e-4, 1e-6
# An answer that comes back to within this share of a difference has come back.
_CAME_BACK = 1e-2


@dataclass(slots=True)
class Consistency:
    """What was seen of one input that was asked twice, alone and among others, and a third time where these differ.

    Attributes
    ----------
    asked
        Whether the comparison was made.
    alone, among
        The first two responses.
    difference
        The largest difference between two of the responses.
    kind
        What a difference means, None where there is none.
    """

    asked: bool = False
    alone: float = 0.0
    among: float = 0.0
    difference: float = 0.0
    kind: Kind | None = None

    def compare(self, alone: float, among: float, again: Callable[[], Sequence[float]]) -> None:
        """Compare two responses to one input; `again` asks for it alone once more or twice, and is called only if they differ.

        If all responses to the input alone are the same, it is its neighbours in the batch that make the difference.
        """
        self.asked, self.alone, self.among = True, alone, among
        if abs(alone - among) > _OF_RESPONSE * abs(alone):
            more = again()
            every = (alone, among, *more)
            self.difference = max(every) - min(every)
            by_itself = (alone, *more) if len(more) == 1 else more
            came_back = max(by_itself) - min(by_itself) <= _CAME_BACK * self.difference
            self.kind = "batch-dependent" if came_back else "not-deterministic"

    def matters(self, estimate: Estimate) -> bool:
        """Return whether such a difference could move a score by its standard error.

        A score is a difference of mean responses, so that it moves by at most twice as much as they do. What is
        rounding beside the scores, or beside the response, does not matter.
        """
        if self.kind is None or not len(estimate.gamma):
            return False
        errors = np.sqrt(np.maximum(estimate.variances, 0.0))
        rounding = max(_OF_SCORES * float(np.abs(estimate.gamma).max()), _OF_RESPONSE * abs(self.alone))
        return 2 * self.difference > max(float(errors.min()), rounding)


def note(found: Consistency) -> Note:
    """Return what a reader must know of a model whose answers differ."""
    assert found.kind is not None
    if found.kind == "batch-dependent":
        return Note(
            found.kind,
            f"the model answers {found.alone:.4g} to a text alone and {found.among:.4g} to the same text beside others: each "
            "copy was asked alone, which is slower; check whether the model normalises over the batch",
        )
    return Note(
        found.kind,
        f"the model answers {found.alone:.4g}, and when asked again {found.among:.4g}, to the same text: no answer was used "
        "twice, and the standard errors include this noise; switch off dropout or sampling, or fix the model's seed",
    )
