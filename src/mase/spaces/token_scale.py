"""NLGP: the vector of each token is scaled, without changing its direction."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mase.errors import OptionError
from mase.spaces.protocol import Noise, norms, scaled

__all__ = ["TokenScale"]


@dataclass(frozen=True, slots=True)
class TokenScale:
    """e_i(c) = r_i + c_i (e_i - r_i): Definition NLGP with a reference r, which is 0 in the paper.

    Parameters
    ----------
    reference
        "zero", or a token of the model: "mask", "unk" or "pad"; "auto" is the first of these tokens that the model has.
    step
        ``"relative"``: one unit of c is the length of the vector itself, so the score tends to <e_i - r_i, df/de_i> as
        sigma goes to 0. ``"unit"``: one unit of c is a step of length 1 along the vector, so scores are divided by
        |e_i - r_i|.

    Notes
    -----
    Read literally, "c^T e(x)" in the definition would contract the text to one vector. The figure and the prose
    describe a scaling of each token, diag(c) e(x), which is implemented here.
    """

    reference: str = "zero"
    step: Literal["relative", "unit"] = "relative"
    per_token: ClassVar[bool] = False
    binary: ClassVar[bool] = False
    noisy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.step not in ("relative", "unit"):
            raise OptionError(f"step is {self.step!r}, expected 'relative' or 'unit'")

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e - r `(t, d)`, normalised to length 1 for unit steps."""
        difference = embeddings - reference
        if self.step == "relative":
            return difference
        length = norms(difference)
        return difference / (length + (length == 0))

    def scale(self, embeddings: Any) -> Any:
        """Return ones `(t,)`."""
        return embeddings[:, 0] * 0 + 1

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e + (c - 1) (e - r) `(b, t, d)`."""
        del noise
        return scaled(coordinates, embeddings, offset)
