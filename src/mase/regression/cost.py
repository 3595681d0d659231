"""What an explanation costs: evaluations of the model, counted where they are asked for."""

from dataclasses import dataclass

from mase.attribution import Note
from mase.links import FLOOR

__all__ = ["Cost"]


@dataclass(slots=True)
class Cost:
    """What was asked of a model.

    Attributes
    ----------
    n_queries
        Evaluations (rows), those of binding and of trials among them.
    n_gradients
        Evaluations with a backward pass.
    n_floored
        Answers whose probability was below `mase.links.FLOOR` where a logarithm was taken.
    """

    n_queries: int = 0
    n_gradients: int = 0
    n_floored: int = 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of the answers."""
        if not self.n_floored:
            return ()
        message = (
            f"{self.n_floored} of {self.n_queries} answers had a probability below {FLOOR:g}, whose logarithm may be "
            f"infinite: it was counted as {FLOOR:g}; give logits (outputs='logits') if there are any, or link='probability'"
        )
        return (Note("floored", message),)
