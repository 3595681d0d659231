"""What the rest of the library asks of a model: two narrow protocols, `Model` and `Probe`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from mase.arrays import Floats, Ints
from mase.links import Link, Output
from mase.spaces.protocol import Space
from mase.text import Tokens

__all__ = [
    "AttributionProbe",
    "Binding",
    "ExchangeProbe",
    "GradientProbe",
    "HalfProbe",
    "Model",
    "Opened",
    "Probe",
    "RememberingProbe",
    "SeededProbe",
    "TokenModel",
]


@dataclass(frozen=True, slots=True)
class Binding:
    """How a text is bound to coordinates: the space, the coordinate of each token (-1: fixed), and key and level of noise."""

    tokens: Tokens
    space: Space
    coordinate_of_token: Ints
    n_coordinates: int
    noise_key: tuple[int, ...]
    sigma: float

    def token_sources(self, sources: Ints) -> Ints:
        """Return `(b, t)`: the token whose content each token gets, where words i get those of words `sources[:, i]`, `(b, p)`.

        The k-th token of a word gets the k-th of the other's, counted round; fixed tokens (coordinate -1) keep theirs.
        """
        tokens = np.arange(len(self.coordinate_of_token))
        members = [tokens[self.coordinate_of_token == word] for word in range(sources.shape[1])]
        found = np.tile(tokens, (len(sources), 1))
        for row, word in np.argwhere(sources != np.arange(sources.shape[1])):
            other, own = members[sources[row, word]], members[word]
            found[row, own] = other[np.arange(len(own)) % len(other)]
        return found


# The function `scores` of a probe, ready for many batches while the context lasts.
Opened = AbstractContextManager[Callable[[Floats, Ints], Floats]]


class Probe(Protocol):
    """A model bound to one text and one coordinate space: p coordinates in, class scores out.

    Attributes
    ----------
    output
        What the columns of `scores` are.
    scale
        `(p,)`: standard deviation of each coordinate per unit of sigma; 0 marks a coordinate that moves nothing.
    start
        `(1, k)`: scores of the text itself.
    n_setup
        Number of model evaluations that binding took.
    batch_size
        How many rows at once suit the model and the length of the text.
    """

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        ...

    @property
    def scale(self) -> Floats:
        """Standard deviations per unit of sigma `(p,)`."""
        ...

    @property
    def start(self) -> Floats:
        """Scores of the text itself `(1, k)`."""
        ...

    @property
    def n_setup(self) -> int:
        """Number of evaluations for binding."""
        ...

    @property
    def batch_size(self) -> int:
        """Rows at once."""
        ...

    def opened(self) -> Opened:
        """Return a context with the function `scores`, for many batches; the model is as it was when it ends.

        What takes time to make ready is made ready once; a probe with nothing to prepare returns
        `contextlib.nullcontext(self.scores)`.
        """
        ...

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; `rows` `(b,)` are their numbers in the design, for noise.

        Raises
        ------
        MemoryError
            If the device has no room for b rows.
        """
        ...


@runtime_checkable
class RememberingProbe(Protocol):
    """A probe that asks its model about each distinct input once, and remembers the answers."""

    def afresh(self, *, remember: bool) -> Probe:
        """Return the same probe without the answers so far; it keeps no new ones unless `remember`."""
        ...


@runtime_checkable
class SeededProbe(Protocol):
    """A probe whose model runs from the same random state each time, so that other noise has to be asked for."""

    def seeded(self, seed: int) -> Probe:
        """Return the same probe, its model run from the random state of `seed`."""
        ...


@runtime_checkable
class GradientProbe(Protocol):
    """A probe that also differentiates."""

    def gradients(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` of the response by the coordinates."""
        ...

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> Floats:
        """Return `(b, p)`: the norm of the response's gradient by all entries of the vectors that a coordinate moves."""
        ...


@runtime_checkable
class ExchangeProbe(Protocol):
    """A probe that can put the content of one word in the place of another."""

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where the words of coordinates i have the content of those of `sources[:, i]`, `(b, p)`."""
        ...


@runtime_checkable
class AttributionProbe(Protocol):
    """A probe of a model whose layers have rules to hand a difference of responses back to the words (DeepLIFT)."""

    def contributions(self, link: Link, target: int) -> Floats:
        """Return contributions `(p,)` that sum to the response at the text minus that at the reference."""
        ...


@runtime_checkable
class HalfProbe(Protocol):
    """A probe that can also answer in half precision."""

    def half(self) -> Probe | None:
        """Return the same probe, its model run in bfloat16 but for the layer that gives the class scores.

        None where that would be slower, because the processor has no instructions for bfloat16.
        """
        ...


class Model(Protocol):
    """A text classifier.

    Attributes
    ----------
    name
        For provenance and messages.
    has_embeddings
        Whether coordinates may take any value (else only 0 and 1: a word is there or not).
    references
        What can stand for absence, the most natural first.
    """

    @property
    def name(self) -> str:
        """Name."""
        ...

    @property
    def has_embeddings(self) -> bool:
        """Whether coordinates may take any value."""
        ...

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the references, the most natural first."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes."""
        ...

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights; None for a black box."""
        ...

    def encode(self, text: str) -> Tokens:
        """Return the tokens that the model reads, what it does not read noted as a truncation."""
        ...

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of one text."""
        ...

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return class probabilities `(n, k)`."""
        ...


@runtime_checkable
class TokenModel(Protocol):
    """A model that also answers for tokens that it did not cut from a text itself, as when some were taken out."""

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities `(n, k)` of n sequences of tokens, none of them empty."""
        ...
