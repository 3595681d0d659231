"""Spaces: what a coordinate does to the input."""

from dataclasses import dataclass
from math import pi, tan
from typing import Any, ClassVar, Literal, Protocol

from mase.errors import OptionError
from mase.registry import Registry


@dataclass(frozen=True, slots=True)
class Noise:
    """Additional noise for b rows: `normal` `(b, t, d)`, `uniform` `(b, t)` and the noise level sigma."""

    normal: Any
    uniform: Any
    sigma: float


class Space(Protocol):
    """A map from coordinates to embeddings.

    Attributes
    ----------
    reference
        The input that represents absence: "zero", a token ("mask", "unk", "pad"), "delete" for black boxes, or "auto"
        for the first one that the model supports; None if the space has no reference.
    binary
        Whether coordinates are only 0 or 1.
    per_token
        Whether coordinates must be tokens. Word scores are then sums of token scores.
    noisy
        Whether rows need noise in addition to their coordinates.
    """

    per_token: ClassVar[bool]
    binary: ClassVar[bool]
    noisy: ClassVar[bool]

    @property
    def reference(self) -> str | None:
        """Name of the reference."""
        ...

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return the change `(t, d)` of each token vector per unit of its coordinate."""
        ...

    def scale(self, embeddings: Any) -> Any:
        """Return the standard deviation `(t,)` of each coordinate per unit of sigma."""
        ...

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return perturbed embeddings `(b, t, d)` for coordinates `(b, t)`; all ones give the text itself."""
        ...


def scaled(coordinates: Any, embeddings: Any, offset: Any) -> Any:
    """Return e + (c - 1) offset `(b, t, d)` for coordinates c `(b, t)`, with one temporary array."""
    vectors = (coordinates - 1)[..., None] * offset
    vectors += embeddings
    return vectors


def norms(vectors: Any) -> Any:
    """Return Euclidean norms over the last axis, which is kept with size 1."""
    return (vectors * vectors).sum(-1)[..., None] ** 0.5


def across(noise: Any, embeddings: Any) -> Any:
    """Return noise `(b, t, d)` without its component along the embeddings `(t, d)`."""
    square = (embeddings * embeddings).sum(-1)[..., None]
    square = square + (square == 0)
    return noise - (noise * embeddings).sum(-1)[..., None] / square * embeddings


@dataclass(frozen=True, slots=True)
class TokenMask:
    """c_i = 1 keeps a word, c_i = 0 replaces it by the reference ("mask", "unk", "pad"; "delete" for a black box)."""

    reference: str = "auto"
    per_token: ClassVar[bool] = False
    binary: ClassVar[bool] = True
    noisy: ClassVar[bool] = False

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e - r `(t, d)`."""
        return embeddings - reference

    def scale(self, embeddings: Any) -> Any:
        """Return ones `(t,)`."""
        return embeddings[:, 0] * 0 + 1

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e where c = 1 and r where c = 0, `(b, t, d)`."""
        del noise
        return scaled(coordinates, embeddings, offset)


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


@dataclass(frozen=True, slots=True)
class FullEmbedding:
    """e_i + Z_i with Z_i ~ N(0, sigma^2 I_d): Theorem 1 on vec Z, reduced to one score <gamma_i, e_i> per token.

    Notes
    -----
    Z_i has a component along e_i and an independent component orthogonal to e_i. Let the coordinate be
    u_i = <Z_i, e_i> / |e_i|^2, whose variance is sigma^2 / |e_i|^2. Theorem 1 then gives
    Var(u_i)^-1 E[d u_i] = E[d <Z_i, e_i>] / sigma^2, which is <gamma_i, e_i>. So t coordinates suffice, and no t x d
    matrix of samples needs to be stored.
    """

    reference = None
    per_token: ClassVar[bool] = True
    binary: ClassVar[bool] = False
    noisy: ClassVar[bool] = True

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e `(t, d)`."""
        del reference
        return embeddings

    def scale(self, embeddings: Any) -> Any:
        """Return 1 / |e_i| `(t,)`."""
        length = norms(embeddings)[..., 0]
        return (length != 0) / (length + (length == 0))

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e + (c - 1) e + sigma (noise across e), `(b, t, d)`."""
        assert noise is not None
        return scaled(coordinates, embeddings, offset) + noise.sigma * across(noise.normal, embeddings)


@dataclass(frozen=True, slots=True)
class RelativeEmbedding:
    """e_i + Z_i with Z_i ~ N(0, (sigma R)^2 I_d), where R is the range of all entries of the text's embedding.

    Smilkov et al. (2017) give the noise level of SmoothGrad as a share of the range, 10 % to 20 %, so that it suits all
    models. As in `FullEmbedding`, the coordinate is the component of Z_i along e_i, and the derivative with respect to
    it is <e_i, df/de_i> at the noisy text.
    """

    reference = None
    per_token: ClassVar[bool] = True
    binary: ClassVar[bool] = False
    noisy: ClassVar[bool] = True

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e `(t, d)`."""
        del reference
        return embeddings

    def scale(self, embeddings: Any) -> Any:
        """Return R / |e_i| `(t,)`."""
        length = norms(embeddings)[..., 0]
        return _range(embeddings) * (length != 0) / (length + (length == 0))

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e + (c - 1) e + sigma R (noise across e), `(b, t, d)`."""
        assert noise is not None
        spread = noise.sigma * _range(embeddings)
        return scaled(coordinates, embeddings, offset) + spread * across(noise.normal, embeddings)


def _range(embeddings: Any) -> Any:
    return embeddings.max() - embeddings.min()


SPACES = Registry(
    "space",
    {
        "token-scale": "mase.spaces:TokenScale",
        "full-embedding": "mase.spaces:FullEmbedding",
        "relative-embedding": "mase.spaces:RelativeEmbedding",
        "cone": "mase.spaces:Cone",
        "token-mask": "mase.spaces:TokenMask",
    },
    "mase.spaces",
)
