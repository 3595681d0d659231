"""The cost of an explanation: the number of model evaluations."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mase.attribution import Note
from mase.links import FLOOR

__all__ = ["Cost"]


@dataclass(slots=True)
class Cost:
    """Counts of model evaluations. It watches the batches (`mase.models.batching.Watch`).

    Attributes
    ----------
    n_queries
        Evaluations (rows), including those for setup and for trial runs.
    n_compared
        Those of them that were made again, to compare the answers.
    n_gradients
        Evaluations with a backward pass.
    n_floored
        Evaluations whose probability was below `mase.links.FLOOR` and was raised to it before taking the logarithm.
    halved_to
        Smallest batch size after memory ran out; None if it never did.
    listener
        Called with the number of rows of every batch; None for nobody.
    """

    n_queries: int = 0
    n_compared: int = 0
    n_gradients: int = 0
    n_floored: int = 0
    halved_to: int | None = None
    listener: Callable[[int], None] | None = field(default=None, repr=False, compare=False)

    def asked(self, n: int) -> None:
        """Tell the listener of a batch of n rows."""
        if self.listener is not None:
            self.listener(n)

    def halved(self, batch_size: int) -> None:
        """Record that memory ran out, and that batches have at most `batch_size` rows since."""
        self.halved_to = batch_size if self.halved_to is None else min(self.halved_to, batch_size)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the evaluations."""
        return (*self._of_floor(), *self._of_memory())

    def _of_memory(self) -> tuple[Note, ...]:
        if self.halved_to is None:
            return ()
        message = (
            f"memory ran out, so that batches were halved to {self.halved_to}: scores may differ by rounding from "
            f"those of a run with more memory; use batch_size={self.halved_to} for the same scores in every run"
        )
        return (Note("batch-halved", message),)

    def _of_floor(self) -> tuple[Note, ...]:
        if not self.n_floored:
            return ()
        message = (
            f"{self.n_floored} of {self.n_queries} evaluations returned a probability below {FLOOR:g}, which was "
            f"raised to {FLOOR:g} before taking the logarithm; return logits (outputs='logits'), or use another link: "
            "'probability', or 'log-probability' for the answer of a language model"
        )
        return (Note("floored", message),)
