"""The base classes of models and probes, and models that wrap another one."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mase.arrays import Bools, Floats, Ints, equal_fields
from mase.attribution.response import Answer, Note
from mase.document import Input
from mase.errors import CapabilityError
from mase.links import Contrast, Output
from mase.registry import completed
from mase.rng import stream_key
from mase.spaces import Space
from mase.text import Tokens

if TYPE_CHECKING:
    from mase.models.description import Description


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


class Probe:
    """A model bound to one text and one coordinate space: p coordinates in, class scores out.

    A subclass has the first five attributes or properties, and `scores`. It overrides what else its model can do.
    """

    __slots__ = ()
    if TYPE_CHECKING:  # a property that is there when the program runs would be in the way of a field of that name

        @property
        def output(self) -> Output:
            """What the columns of `scores` are."""

        @property
        def scale(self) -> Floats:
            """`(p,)`: standard deviation of each coordinate per unit of sigma; 0 marks one without effect."""

        @property
        def start(self) -> Floats:
            """`(1, k)`: scores of the text itself."""

        @property
        def n_setup(self) -> int:
            """Number of model evaluations used by binding."""

        @property
        def batch_size(self) -> int:
            """Recommended number of rows per batch for this model and text length."""

    def opened(self) -> Opened:
        """Return a context that yields the function `scores` for many batches and restores the model when it ends.

        The context does expensive preparation once.
        """
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)`; `rows` `(b,)` are their indices in the design, for noise.

        Raises
        ------
        MemoryError
            If b rows do not fit into the memory of the device.
        """
        raise NotImplementedError

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said of the text or the answer, such as that it was cut off."""
        return ()

    @property
    def answer(self) -> Answer | None:
        """The answer whose log-probabilities the scores of a language model are; None for another model."""
        return None

    @property
    def answers_only(self) -> bool:
        """Whether the scores compare answers, each of which is a request that counts."""
        return False

    @property
    def varies(self) -> bool | None:
        """Whether answers to the same row vary, which is planned for; None if that is not known."""
        return False

    @property
    def n_rejected(self) -> int:
        """Number of requests so far that were charged and brought no answer."""
        return 0

    @property
    def n_reserved(self) -> int:
        """Number of evaluations of the budget that are spent otherwise than on rows."""
        return 0

    @property
    def rounding(self) -> float:
        """The largest change of a response by the other rows of a batch, as a share of the highest score.

        It is 0 for a model in float32.
        """
        return 0.0

    def seeded(self, seed: int) -> Self:
        """Return the same probe with another random state of the model, from which each evaluation starts."""
        del seed
        return self

    @property
    def has_seeds(self) -> bool:
        """Whether the model may be random, so that `seeded` makes a difference."""
        return type(self).seeded is not Probe.seeded

    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` of the response with respect to the coordinates."""
        raise CapabilityError("the method needs gradients, which this model does not provide; use method='mase'")

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return `(b, p)`: the norm of the response's gradient with respect to all vectors that a coordinate moves."""
        raise CapabilityError("the method needs gradients, which this model does not provide; use method='mase'")

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i has the content of word `sources[:, i]`; `sources` is `(b, p)`."""
        raise CapabilityError("the method exchanges words, which this model does not support; use method='occlusion'")

    def contributions(self, link: str | Contrast, target: int) -> Floats:
        """Return DeepLIFT contributions `(p,)` that sum to the response at the text minus that at the reference."""
        raise CapabilityError("the method supports the bundled LSTM classifiers only; use method='kernel-shap'")

    def half(self) -> "Probe | None":
        """Return the same probe with the model in bfloat16, except for the layer that computes the class scores.

        Return None if that would be slower, because the processor has no instructions for bfloat16.
        """
        raise CapabilityError(
            "half precision requires a torch model, expected precision='float32' for a function of texts"
        )

    @property
    def has_control(self) -> bool:
        """Whether there is a cheap model beside this one."""
        return False

    def control(self, coordinates: Floats) -> Floats:
        """Return the scores `(n, k)` of the cheap model at coordinates `(n, p)` of zeros and ones."""
        raise NotImplementedError


class Model:
    """A text classifier, or another model that reads texts.

    A subclass has the first five attributes or properties, and `encode`, `bind` and `predict`. It overrides of the rest
    what it can do.
    """

    if TYPE_CHECKING:  # a property that is there when the program runs would be in the way of an attribute of that name

        @property
        def name(self) -> str:
            """Name for provenance and messages."""

        @property
        def has_embeddings(self) -> bool:
            """Whether coordinates may take any value. Otherwise they are 1 (the word is kept) or 0 (it is masked)."""

        @property
        def references(self) -> tuple[str, ...]:
            """Names of the references that can represent an absent word, the most natural one first."""

        @property
        def labels(self) -> tuple[str, ...]:
            """Names of the k classes or values."""

        @property
        def sha256(self) -> str | None:
            """Checksum of the weights; None for a black box."""

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads; if it reads only a part of the text, they record the truncation.

        Raises
        ------
        InvalidTextError
            If the model does not read such a document, for example one of several fields.
        """
        raise NotImplementedError

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of one text."""
        raise NotImplementedError

    def predict(self, texts: Sequence[Input]) -> np.ndarray:
        """Return class probabilities `(n, k)` of texts or other documents, or the values of a model of values."""
        raise NotImplementedError

    @property
    def accepts_tokens(self) -> bool:
        """Whether `predict_tokens` is there."""
        return type(self).predict_tokens is not Model.predict_tokens

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities `(n, k)` of n sequences of tokens, none of them empty.

        They need not be the tokens of a text: some may have been removed.
        """
        raise NotImplementedError

    @property
    def returns_values(self) -> bool:
        """Whether its columns are values (see `mase.links.Output`), which is known without evaluating it."""
        return False

    @property
    def default_method(self) -> str | None:
        """Name of the method that explains it if nobody names one; None for that of classifiers."""
        return None

    @property
    def links(self) -> tuple[str, ...]:
        """Names of links if it has no classes, the default first; empty for a classifier."""
        return Output("values").links or () if self.returns_values else ()

    @property
    def waits(self) -> bool:
        """Whether this process waits for a device or a server, and can do something else in the meantime."""
        return False

    @property
    def cheap(self) -> bool:
        """Whether models of this kind mostly cost little, so that more may be asked where no place is certain."""
        return False

    @property
    def description(self) -> "Description | None":
        """What an object was taken for; None if it does not say."""
        return None

    @property
    def package(self) -> str | None:
        """Name of the package that the model is from, such as "sklearn"; None if it is not known."""
        return None

    @property
    def device(self) -> str | None:
        """The device of the weights, such as "cpu" or "cuda:0"; None if it is not known."""
        return None

    @property
    def prompting(self) -> Mapping[str, Any]:
        """The settings of a language model that results record beside its name, as plain JSON types."""
        return {}

    def reads(self) -> Mapping[str, Any]:
        """Return how it reads texts, which its weights do not tell, as plain JSON types; empty if nothing is known.

        Runs record it, with a checksum of the tokenizer.
        """
        return {}


class Wrapper(Model):
    """A model that delegates everything that a classifier or a model of values must have, except `bind`, to `model`."""

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

    @property
    def returns_values(self) -> bool:
        """Whether its columns are values."""
        return self.model.returns_values

    @property
    def links(self) -> tuple[str, ...]:
        """Names of links if it has no classes."""
        return self.model.links

    def encode(self, text: Input) -> Tokens:
        """Return the tokens that the model reads."""
        return self.model.encode(text)

    def predict(self, texts: Sequence[Input]) -> np.ndarray:
        """Return class probabilities `(n, k)` of the texts themselves."""
        return self.model.predict(texts)


def probe_of(model: Model, binding: Binding) -> Probe:
    """Return the probe of one text, also that of a model which was written before 0.3."""
    return completed(model.bind(binding), Probe)


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
