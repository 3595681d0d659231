"""Models with known answers: probes, classifiers, and a language model that looks things up.

FOLDER holds the language model (120 kB): any function that takes the folder of a language model takes it. The README in
it says how it was trained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import OptionError
from mase.links import Contrast, Output
from mase.models.base import Probe
from mase.text import find_words


@dataclass(frozen=True, slots=True)
class AdditiveClassifier:
    """A function of texts that adds up the worth of the words, so that the true score of a word is its worth.

    The probability of the second of two classes is `constant` plus the worth of each different word in the text.

    Parameters
    ----------
    worth
        The amount that a word adds to the probability; words without an entry add nothing.
    constant
        The probability of a text without any of these words.

    Examples
    --------
    >>> AdditiveClassifier({"superb": 0.25, "dull": -0.125})(["a superb cast", "superb, not dull"])
    array([[0.25 , 0.75 ],
           [0.375, 0.625]])
    """

    worth: Mapping[str, float]
    constant: float = 0.5

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return class probabilities `(n, 2)`."""
        word_sets = (set(_words(text)) for text in texts)
        probabilities = [
            self.constant + sum(value for word, value in self.worth.items() if word in words) for words in word_sets
        ]
        return np.array([[1 - probability, probability] for probability in probabilities])


@dataclass(frozen=True, slots=True)
class LogisticClassifier:
    """A function of texts whose log-odds of the second of two classes are linear in the word counts.

    Parameters
    ----------
    weights
        The amount that each occurrence of a word adds to the log-odds; words without an entry add nothing.

    Examples
    --------
    >>> LogisticClassifier({"good": 2.0, "bad": -2.0})(["good and bad", "good"]).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    weights: Mapping[str, float]

    def __call__(self, texts: Sequence[str]) -> Floats:
        """Return class probabilities `(n, 2)`."""
        log_odds = np.array([sum(self.weights.get(word, 0.0) for word in _words(text)) for text in texts])
        return np.stack([1 / (1 + np.exp(log_odds)), 1 / (1 + np.exp(-log_odds))], axis=1)


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text)]


@dataclass(frozen=True)
class FunctionProbe(Probe):
    """A probe of p coordinates whose first class has the logit `function(c)` `(n,)` and whose second has the logit 0.

    With the link "logit" the explained response is the function itself. `slope(c)` `(n, p)` are its derivatives.
    """

    function: Callable[[Floats], Floats]
    size: int
    slope: Callable[[Floats], Floats] | None = None
    batches: list[int] = field(default_factory=list, compare=False)
    n_setup: int = 1
    batch_size: int = 64
    output: Output = Output("logits")  # noqa: RUF009 (frozen)

    @property
    def scale(self) -> Floats:
        """Ones `(p,)`."""
        return np.ones(self.size)

    @property
    def start(self) -> Floats:
        """Scores `(1, 2)` at c = 1, for which the function is called once."""
        return self._start

    @cached_property
    def _start(self) -> Floats:
        return self.scores(np.ones((1, self.size)), np.zeros(1, dtype=np.int64))

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, 2)` at coordinates `(b, p)`."""
        self.batches.append(len(rows))
        values = self.function(coordinates)
        return np.stack([values, np.zeros_like(values)], axis=1)

    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, 2)` and derivatives `(b, p)` of the logit of the first class."""
        assert self.slope is not None
        assert (link, target) == ("logit", 0)
        return self.scores(coordinates, rows), self.slope(coordinates)

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return the absolute derivatives `(b, p)`, which are the norms here because a coordinate moves one number."""
        return np.abs(self.gradients(coordinates, rows, link, target)[1])


def linear(gamma: Floats, constant: float = 0.3) -> FunctionProbe:
    """Return the probe of constant + c.gamma."""
    return FunctionProbe(lambda c: constant + c @ gamma, len(gamma), lambda c: np.broadcast_to(gamma, c.shape))


def quadratic(gamma: Floats, hessian: Floats) -> FunctionProbe:
    """Return the probe of z.gamma + z'Hz / 2 with z = c - 1, whose saliency is gamma at any sigma."""
    return FunctionProbe(
        lambda c: (c - 1) @ gamma + np.einsum("ni,ij,nj->n", c - 1, hessian, c - 1) / 2,
        len(gamma),
        lambda c: gamma + (c - 1) @ hessian,
    )


def smooth(size: int, seed: int = 0) -> FunctionProbe:
    """Return the probe of a nonlinear function with interactions: sums of tanh of random projections."""
    rng = np.random.default_rng(seed)
    inner, outer = rng.standard_normal((size, 6)) / np.sqrt(size), rng.standard_normal(6)
    bias = rng.standard_normal(6)

    def function(c: Floats) -> Floats:
        return np.asarray(np.tanh(3 * c @ inner + bias) @ outer)

    def slope(c: Floats) -> Floats:
        return np.asarray(((1 - np.tanh(3 * c @ inner + bias) ** 2) * outer * 3) @ inner.T)

    return FunctionProbe(function, size, slope)


FOLDER = Path(__file__).parent / "look_up"

NAMES = (
    "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivan", "Jade", "Kai", "Lea", "Max", "Nora", "Omar",
    "Pia", "Quinn", "Rosa", "Sam", "Tess", "Uma", "Vera", "Walt", "Zoe",
)  # fmt: skip

VERBS = (
    "sings", "paints", "reads", "cooks", "dances", "swims", "runs", "writes", "sails", "rides", "sews", "digs",
    "bakes", "draws", "climbs", "fishes", "skates", "juggles", "knits", "mows", "welds", "hunts", "skis", "types",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lookup:
    """A question whose answer stands in the context.

    Attributes
    ----------
    sources
        The sentences of the context, such as "Ada sings."
    query
        The question.
    answer
        The right answer: a sentence for each person that the question names.
    used
        For each sentence of the answer the index of the only source that says so.
    """

    sources: tuple[str, ...]
    query: str
    answer: str
    used: tuple[int, ...]

    @property
    def context(self) -> str:
        """The sources as one text."""
        return " ".join(self.sources)


def lookups(n: int, seed: int = 0, *, n_sources: int = 8, n_asked: int = 1) -> list[Lookup]:
    """Return n random questions about `n_asked` of `n_sources` people.

    Examples
    --------
    >>> one = lookups(1, n_sources=3)[0]
    >>> one.context, one.query, one.answer, one.used
    ('Sam sews. Eva rides. Vera sings.', 'What does Eva do?', 'Eva rides.', (1,))
    """
    if not 1 <= n_asked <= n_sources <= len(NAMES):
        raise OptionError(
            f"n_asked is {n_asked} and n_sources is {n_sources}, expected 1 <= n_asked <= n_sources <= {len(NAMES)}"
        )
    rng = np.random.default_rng(seed)
    return [_lookup(rng, n_sources, n_asked) for _ in range(n)]


def _lookup(rng: np.random.Generator, n_sources: int, n_asked: int) -> Lookup:
    names = [NAMES[index] for index in rng.permutation(len(NAMES))[:n_sources]]
    verbs = [VERBS[index] for index in rng.integers(len(VERBS), size=n_sources)]
    used = tuple(rng.permutation(n_sources)[:n_asked].tolist())
    sources = tuple(f"{name} {verb}." for name, verb in zip(names, verbs, strict=True))
    people = " and ".join(names[index] for index in used)
    query = f"What {'does' if n_asked == 1 else 'do'} {people} do?"
    return Lookup(sources, query, " ".join(sources[index] for index in used), used)
