"""NLGP: each token's vector is scaled, its direction kept."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mase.errors import OptionError
from mase.spaces.protocol import Noise, norms, scaled

__all__ = ["TokenScale"]


@dataclass(frozen=True, slots=True)
class TokenScale:
    """e_i(c) = r_i + c_i (e_i - r_i): Definition NLGP with a reference r; r = 0 is the paper's.

    Parameters
    ----------
    reference
        "zero", or a token of the model: "mask", "unk", "pad"; "auto" is the first of these tokens that it has.
    step
        ``"relative"``: one unit of c is the length of the vector itself, so that the score is <e_i - r_i, df/de_i> as
        sigma goes to 0. ``"unit"``: one unit of c is a step of length 1 along it; then scores are divided by |e_i -
        r_i|.

    Notes
    -----
    "c^T e(x)" in the definition, read literally, would contract the text to one vector; figure and prose describe the
    scaling of each token, diag(c) e(x), which is implemented.
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
        """Return e - r `(t, d)`, of length 1 for unit steps."""
        away = embeddings - reference
        if self.step == "relative":
            return away
        length = norms(away)
        return away / (length + (length == 0))

    def scale(self, embeddings: Any) -> Any:
        """Return ones `(t,)`."""
        return embeddings[:, 0] * 0 + 1

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e + (c - 1) (e - r) `(b, t, d)`."""
        del noise
        return scaled(coordinates, embeddings, offset)
