"""The interfaces of models and probes, what they may offer beside, and models that wrap another one."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mase.arrays import Bools, Floats, Ints, equal_fields
from mase.attribution.response import Answer, Note
from mase.document import Input
from mase.errors import CapabilityError
from mase.links import Contrast, Output
from mase.rng import stream_key
from mase.spaces import Space
from mase.text import Tokens


@dataclass(frozen=True, slots=True)
class Binding:
    """How a text is bound to coordinates.

    Attributes
    ----------
    tokens
        The t tokens of the text.
    space
        What a coordinate does to the tokens that it belongs to.
    coordinate_of_token
        `(t,)`: the coordinate of each token; -1 for a token that stays fixed.
    n_coordinates
        Number p of coordinates.
    noise_key
        Key of the random stream for noise, in spaces that have noise.
    sigma
        Standard deviation of that noise.
    """

    tokens: Tokens
    space: Space
    coordinate_of_token: Ints
    n_coordinates: int
    noise_key: tuple[int, ...]
    sigma: float

    __eq__ = equal_fields

    @classmethod
    def of(
        cls,
        tokens: Tokens,
        space: Space,
        coordinate_of_token: Sequence[int] | Ints,
        *,
        seed: int = 0,
        sigma: float = 0.0,
    ) -> "Binding":
        """Return the binding with the coordinates in `coordinate_of_token` `(t,)`, and the noise of `seed`."""
        coordinates: Ints = np.array(coordinate_of_token, dtype=np.int64)
        n_coordinates = int(coordinates.max(initial=-1)) + 1
        return cls(tokens, space, coordinates, n_coordinates, stream_key(seed, tokens.document.key), sigma)

    def kept_tokens(self, coordinates: Floats, owner: str) -> Bools:
        """Return `(b, t)`: which tokens stay at coordinates `(b, p)` of zeros and ones; fixed tokens do.

        Raises
        ------
        CapabilityError
            If a coordinate is neither 0 nor 1, which the model `owner` does not support.
        """
        if not np.isin(coordinates, (0.0, 1.0)).all():
            raise CapabilityError(
                f"{owner} can only keep or mask words, expected coordinates 0 and 1; use method='NAME+design=bernoulli'"
            )
        kept: Bools = (coordinates[:, self.coordinate_of_token] == 1) | (self.coordinate_of_token < 0)
        return kept

    def token_sources(self, sources: Ints) -> Ints:
        """Return `(b, t)`: the token whose content each token receives when words exchange their content.

        In row r, word i receives the content of word `sources[r, i]`; `sources` is `(b, p)`. The k-th token of a word
        receives the k-th token of the other word. If the other word has fewer tokens, they are repeated from the first.
        Fixed tokens (coordinate -1) keep their own content.
        """
        tokens = np.arange(len(self.coordinate_of_token))
        members = [tokens[self.coordinate_of_token == word] for word in range(sources.shape[1])]
        token_sources = np.tile(tokens, (len(sources), 1))
        for row, word in np.argwhere(sources != np.arange(sources.shape[1])):
            source, receiver = members[sources[row, word]], members[word]
            token_sources[row, receiver] = source[np.arange(len(receiver)) % len(source)]
        return token_sources


# A context that yields the function `scores` of a probe, for any number of batches.
Opened = AbstractContextManager[Callable[[Floats, Ints], Floats]]


class Probe(Protocol):
    """A model bound to one text and one coordinate space: p coordinates in, class scores out.

    Attributes
    ----------
    output
        What the columns of `scores` are.
    scale
        `(p,)`: standard deviation of each coordinate per unit of sigma; 0 marks a coordinate without effect.
    start
        `(1, k)`: scores of the text itself.
    n_setup
        Number of model evaluations used by binding.
    batch_size
        Recommended number of rows per batch for this model and text length.
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
        """Recommended number of rows per batch."""
        ...

    def opened(self) -> Opened:
        """Return a context that yields the function `scores` for many batches and restores the model when it ends.

        The context does expensive preparation once. A probe with nothing to prepare returns
        `contextlib.nullcontext(self.scores)`.
        """
        ...

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; `rows` `(b,)` are their indices in the design, for noise.

        Raises
        ------
        MemoryError
            If b rows do not fit into the memory of the device.
        """
        ...


@runtime_checkable
class SeededProbe(Protocol):
    """A probe whose model may be random; each evaluation starts from the same random state, which can be changed."""

    def seeded(self, seed: int) -> Probe:
        """Return the same probe with the random state of `seed`."""
        ...


@runtime_checkable
class RoundingProbe(Protocol):
    """A probe that says by how much the other rows of a batch may change the response to a row, by rounding."""

    @property
    def rounding(self) -> float:
        """The largest such change of a response, as a share of the highest score; 0 for a model in float32."""
        ...


@runtime_checkable
class GradientProbe(Protocol):
    """A probe that can also compute gradients."""

    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` of the response with respect to the coordinates."""
        ...

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return `(b, p)`: the norm of the response's gradient with respect to all vectors that a coordinate moves."""
        ...


@runtime_checkable
class ExchangeProbe(Protocol):
    """A probe that can replace the content of a word by that of another word of the text."""

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i has the content of word `sources[:, i]`; `sources` is `(b, p)`."""
        ...


@runtime_checkable
class AttributionProbe(Protocol):
    """A probe whose model has rules that distribute a difference of responses over the words (DeepLIFT)."""

    def contributions(self, link: str | Contrast, target: int) -> Floats:
        """Return contributions `(p,)` that sum to the response at the text minus that at the reference."""
        ...


@runtime_checkable
class HalfProbe(Protocol):
    """A probe that can also evaluate its model in half precision."""

    def half(self) -> Probe | None:
        """Return the same probe with the model in bfloat16, except for the layer that computes the class scores.

        Return None if that would be slower, because the processor has no instructions for bfloat16.
        """
        ...


class Model(Protocol):
    """A text classifier.

    Attributes
    ----------
    name
        Name for provenance and messages.
    has_embeddings
        Whether coordinates may take any value. Otherwise they are 1 (the word is kept) or 0 (it is masked).
    references
        Names of the references that can represent an absent word, the most natural one first.
    """

    @property
    def name(self) -> str:
        """Name for provenance and messages."""
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
        """Names of the k classes or values."""
        ...

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights; None for a black box."""
        ...

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads; if it reads only a part of the text, they record the truncation.

        Raises
        ------
        InvalidTextError
            If the model does not read such a document, for example one of several fields.
        """
        ...

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of one text."""
        ...

    def predict(self, texts: Sequence[Input]) -> np.ndarray:
        """Return class probabilities `(n, k)` of texts or other documents, or the values of a model of values."""
        ...


@runtime_checkable
class ValueModel(Protocol):
    """A model that says, without being evaluated, whether its columns are values; one that does not is a classifier."""

    @property
    def returns_values(self) -> bool:
        """Whether the kind of its output is "values" (see `mase.links.Output`)."""
        ...


@runtime_checkable
class AnswerModel(Protocol):
    """A language model with answers, whose columns are log-probabilities."""

    @property
    def default_method(self) -> str:
        """Name of the method that explains it if nobody names one."""
        ...

    @property
    def links(self) -> tuple[str, ...]:
        """Names of links, the default first."""
        ...


@runtime_checkable
class AnsweredProbe(Protocol):
    """A language model bound to a prompt, whose scores are log-probabilities of an answer and its parts."""

    @property
    def answer(self) -> Answer:
        """The answer."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said of the answer, such as that it was cut off."""
        ...


@runtime_checkable
class PromptedModel(Protocol):
    """A language model whose answers depend on settings of its own, which results record beside its name."""

    @property
    def prompting(self) -> Mapping[str, Any]:
        """The settings, as plain JSON types."""
        ...


@runtime_checkable
class ReadingModel(Protocol):
    """A model whose answers depend on how it reads texts, which its weights do not tell, and which runs record."""

    def reads(self) -> Mapping[str, Any]:
        """Return the settings, as plain JSON types, with a checksum of the tokenizer; empty if nothing is known."""
        ...


@runtime_checkable
class TokenModel(Protocol):
    """A model that also accepts token sequences that are not the tokens of a text, for example with tokens removed."""

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities `(n, k)` of n sequences of tokens, none of them empty."""
        ...


class Wrapper:
    """A `mase.models.base.Model` that delegates everything except `bind` to `model`."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def has_embeddings(self) -> bool:
        """Whether coordinates may take any value."""
        return self.model.has_embeddings

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the references."""
        return self.model.references

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes."""
        return self.model.labels

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights."""
        return self.model.sha256

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads."""
        return self.model.encode(text)

    def predict(self, texts: Sequence[Input]) -> np.ndarray:
        """Return class probabilities `(n, k)` of the texts themselves."""
        return self.model.predict(texts)


# Packages whose classes hold a module as their attribute `module` and run it on other devices or in another precision.
_WRAPPERS = ("torch.nn.parallel.", "torch.distributed.", "torch.optim.swa_utils", "deepspeed.", "lightning.fabric.")


def unwrapped(model: Any) -> Any:
    """Return the module inside of compiled, parallel and averaged ones; anything else is returned.

    Its code is not run compiled anyway; see `mase.models.torch.engine`.
    """
    compiler, torch = sys.modules.get("torch._dynamo"), sys.modules.get("torch")
    if torch is None:
        return model
    for _ in range(10):
        inner = None
        if compiler is not None and isinstance(model, compiler.OptimizedModule):
            inner = model._orig_mod
        elif f"{type(model).__module__}.".startswith(_WRAPPERS):
            inner = getattr(model, "module", None)
        if not isinstance(inner, torch.nn.Module):
            break
        model = inner
    return model


def differentiable(probe: Probe, method: str) -> GradientProbe:
    """Return a probe that has gradients."""
    if not isinstance(probe, GradientProbe):
        raise CapabilityError(
            f"method {method!r} needs gradients, which this model does not provide; use method='mase'"
        )
    return probe


def exchanging(probe: Probe, method: str) -> ExchangeProbe:
    """Return a probe that can exchange words."""
    if not isinstance(probe, ExchangeProbe):
        raise CapabilityError(
            f"method {method!r} exchanges words, which this model does not support; use method='occlusion'"
        )
    return probe


def with_rules(probe: Probe, method: str) -> AttributionProbe:
    """Return a probe whose model has rules that distribute a difference of responses over the words."""
    if not isinstance(probe, AttributionProbe):
        raise CapabilityError(f"method {method!r} supports the bundled LSTM classifiers only; use method='kernel-shap'")
    return probe


def half_precision(probe: Probe) -> Probe | None:
    """Return a probe in half precision; None where that would be slower."""
    if not isinstance(probe, HalfProbe):
        raise CapabilityError(
            "half precision requires a torch model, expected precision='float32' for a function of texts"
        )
    return probe.half()
