"""The cost of an explanation: the number of model evaluations."""

from dataclasses import dataclass

from mase.attribution import Note
from mase.links import FLOOR

__all__ = ["Cost"]


@dataclass(slots=True)
class Cost:
    """Counts of model evaluations.

    Attributes
    ----------
    n_queries
        Evaluations (rows), including those for setup and for trial runs.
    n_gradients
        Evaluations with a backward pass.
    n_floored
        Evaluations whose probability was below `mase.links.FLOOR` and was raised to it before taking the logarithm.
    n_halved
        How often batches were halved because memory ran out.
    """

    n_queries: int = 0
    n_gradients: int = 0
    n_floored: int = 0
    n_halved: int = 0

    def halved(self) -> None:
        """Count batches that were halved."""
        self.n_halved += 1

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the evaluations."""
        return tuple(note for note in (self._floored(), self._halved()) if note is not None)

    def _floored(self) -> Note | None:
        if not self.n_floored:
            return None
        message = (
            f"{self.n_floored} of {self.n_queries} evaluations returned a probability below {FLOOR:g}, which was "
            f"raised to {FLOOR:g} before taking the logarithm; return logits (outputs='logits') or use "
            "link='probability'"
        )
        return Note("floored", message)

    def _halved(self) -> Note | None:
        if not self.n_halved:
            return None
        return Note(
            "smaller-batches",
            "memory ran out, so batches were halved; the last digits may differ from those of a run with enough memory",
        )
