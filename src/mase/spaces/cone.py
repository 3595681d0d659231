"""NLGP extended to a cone: each vector is also rotated, by an angle of at most theta."""

from dataclasses import dataclass
from math import pi, tan
from typing import Any, ClassVar

from mase.errors import OptionError
from mase.spaces.protocol import Noise, across, norms, scaled

__all__ = ["Cone"]


@dataclass(frozen=True, slots=True)
class Cone:
    """c_i e_i plus a random tangent of length up to tan(theta) |c_i e_i|: the set M of the paper's Section MASE.

    Parameters
    ----------
    theta
        Largest angle between a vector and its perturbation, in radians, from 0 (NLGP) to below pi / 2.

    Notes
    -----
    The paper writes M as a subset of R^m, but it is a product of cones in R^(n x m). A negative c_i, which a Gaussian
    allows, reverses the vector; with sigma = 0.1 this has probability 8e-24.
    """

    theta: float = 0.1
    reference = None
    per_token: ClassVar[bool] = True
    binary: ClassVar[bool] = False
    noisy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.theta < pi / 2:
            raise OptionError(f"theta is {self.theta}, expected radians from 0 to below pi/2")

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e `(t, d)`."""
        del reference
        return embeddings

    def scale(self, embeddings: Any) -> Any:
        """Return ones `(t,)`."""
        return embeddings[:, 0] * 0 + 1

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return c e + tan(theta) U |c e| (unit vector across e), `(b, t, d)`, with U uniform on (0, 1)."""
        assert noise is not None
        vectors = scaled(coordinates, embeddings, offset)
        tangent = across(noise.normal, embeddings)
        length = norms(tangent)
        return vectors + tan(self.theta) * noise.uniform[..., None] * norms(vectors) * tangent / (
            length + (length == 0)
        )
