"""Whether a model returns the same response to the same text, on a second evaluation and in a batch of other texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mase.attribution import Note
from mase.regression.problem import Estimate

__all__ = ["Consistency", "Kind", "note"]

Kind = Literal["not-deterministic", "batch-dependent"]

# Differences below these shares of the largest score and of the response are rounding.
_SCORE_ROUNDING, _RESPONSE_ROUNDING = 1e-4, 1e-6
# Responses to the text alone that differ by less than this share of the largest difference count as reproduced.
_REPRODUCED = 1e-2


@dataclass(slots=True)
class Consistency:
    """The comparison of the responses to one input, evaluated alone and in a batch of other inputs.

    If the first two responses differ, the input is evaluated alone again.

    Attributes
    ----------
    compared
        Whether the comparison was made.
    alone, in_batch
        The first response to the input alone, and the response in a batch.
    difference
        The largest difference between any two responses.
    kind
        The cause of the difference; None if there is no difference.
    """

    compared: bool = False
    alone: float = 0.0
    in_batch: float = 0.0
    difference: float = 0.0
    kind: Kind | None = None

    def compare(self, alone: float, in_batch: float, again: Callable[[], Sequence[float]]) -> None:
        """Compare two responses to one input.

        `again` evaluates the input alone once or twice more. It is called only if the responses differ. If all
        responses to the input alone agree, the difference comes from the other inputs in the batch.
        """
        self.compared, self.alone, self.in_batch = True, alone, in_batch
        if abs(alone - in_batch) > _RESPONSE_ROUNDING * abs(alone):
            repeats = again()
            responses = (alone, in_batch, *repeats)
            self.difference = max(responses) - min(responses)
            responses_alone = (alone, *repeats) if len(repeats) == 1 else repeats
            reproduced = max(responses_alone) - min(responses_alone) <= _REPRODUCED * self.difference
            self.kind = "batch-dependent" if reproduced else "not-deterministic"

    def matters(self, estimate: Estimate) -> bool:
        """Return whether the difference could change a score by its standard error.

        A score is a difference of mean responses, so it changes by at most twice the difference. Differences that are
        rounding, relative to the scores or to the response, do not matter.
        """
        if self.kind is None or not len(estimate.gamma):
            return False
        errors = np.sqrt(np.maximum(estimate.variances, 0.0))
        largest = float(np.abs(estimate.gamma).max())
        rounding = max(_SCORE_ROUNDING * largest, _RESPONSE_ROUNDING * abs(self.alone))
        return 2 * self.difference > max(float(errors.min()), rounding)


def note(consistency: Consistency) -> Note:
    """Return the note for a model whose responses to one text differ."""
    assert consistency.kind is not None
    if consistency.kind == "batch-dependent":
        return Note(
            consistency.kind,
            f"the model returned {consistency.alone:.4g} for a text alone and {consistency.in_batch:.4g} for the same "
            "text in a batch; rows were evaluated one at a time, which is slower; check whether the model normalises "
            "over the batch",
        )
    return Note(
        consistency.kind,
        f"the model returned {consistency.alone:.4g} and then {consistency.in_batch:.4g} for the same text; the cache "
        "was not used, and the standard errors include this noise; switch off dropout or sampling, or fix the seed",
    )
