"""The verdict on an explanation: whether its strongest words would be the same under another seed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mase.attribution.attribution import Attribution

__all__ = ["Verdict", "verdict_on"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an explanation is reliable, with the reasons.

    Attributes
    ----------
    reliable
        Whether it is reliable; otherwise it is to be read with care.
    reasons
        Why, in a few words each.
    """

    reliable: bool
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'reliable' if self.reliable else 'read with care'}: {'; '.join(self.reasons)}"


def verdict_on(attribution: "Attribution") -> Verdict:
    """Return the verdict on an attribution (see docs/reading.md)."""
    reasons = tuple(
        note.message for note in attribution.notes if note.code in ("poor-fit", "unstable", "few-samples", "constant")
    )
    return Verdict(not reasons, reasons or ("another seed would very likely list the same strongest words",))
