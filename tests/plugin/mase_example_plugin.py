"""One of each kind: a design, an estimator, a link, a method, a metric, an output and an adapter."""

from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

import numpy as np

from mase.attribution import Attribution
from mase.attribution.json import Failure
from mase.designs import Design, Distribution, Sample
from mase.designs.placement import single
from mase.estimators import Estimate, Estimator, Problem
from mase.estimators.linear import LeastSquares
from mase.links import Output
from mase.metrics.base import Column, Instance, Metric
from mase.metrics.curves import flips
from mase.models import Callable
from mase.solve.distributions import Covariance


@dataclass(frozen=True, slots=True)
class Coins(Design):
    """Rows of fair coins."""

    def distribution(self, scale: np.ndarray) -> Distribution:
        """Return the distribution of fair coins."""
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(
        self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: np.ndarray | None = None
    ) -> Sample:
        """Return n rows."""
        return single(rng.integers(0, 2, (n, distribution.covariance.size)) - 0.5, distribution)


@dataclass(frozen=True, slots=True)
class BlockMean(Estimator):
    """Mean of the least-squares fits of `blocks` parts of the rows; its covariance is that of the mean."""

    blocks: int = 4

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its covariance."""
        b = self.blocks
        fits = np.array([LeastSquares().fit(problem.rows(slice(first, None, b))).gamma for first in range(b)])
        spread = fits - fits.mean(axis=0)
        return Estimate(fits.mean(axis=0), spread.T @ spread / (b * (b - 1)), float(problem.p))


@dataclass(frozen=True, slots=True)
class Odds:
    """p / (1 - p)."""

    def respond(self, scores: Any, output: Output, target: int, xp: Any) -> Any:
        """Return the odds `(n,)`."""
        chance = scores[:, target] if output.kind == "probabilities" else xp.softmax(scores)[:, target]
        return chance / (1 - chance)

    def logged(self, scores: Any, output: Output, target: int, xp: Any) -> tuple[Any, ...]:
        """Return nothing: it takes no logarithm."""
        return ()


COINS_IN_BLOCKS = {
    "summary": "Fair coins, solved in blocks",
    "space": "token-mask",
    "design": "coins",
    "estimator": "block-mean",
    "link": "odds",
    "n_samples": 200,
}


@dataclass(frozen=True, slots=True)
class SwitchingPoint(Metric):
    """Share of words masked, highest first, until the prediction flips: lower is better; NaN if it never does."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column("share", "lower"),)

    def evaluate(self, instance: Instance) -> np.ndarray:
        """Return the share `(1,)`."""
        w = len(instance.masker.words)
        flipped = flips(instance.masker, instance.ranked, instance.target, range(1, w + 1))
        return np.array([(flipped.argmax() + 1) / w if flipped.any() else np.nan])


class MarkdownList:
    """One item per text, with the word that speaks most for the class."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write an item."""
        said = result.message if isinstance(result, Failure) else f"**{result.top(1)[0].text}**, {result.target}"
        self.stream.write(f"- {number}: {said}\n".encode())

    def close(self) -> None:
        """Write a rule."""
        self.stream.write(b"\n---\n")


@dataclass(frozen=True)
class Lexicon:
    """A framework of its own: a number per word. It can be called, but not with a list of texts."""

    weights: dict[str, float]

    def __call__(self, word: str) -> float:
        """Return the weight of a word."""
        return self.weights.get(word, 0.0)


LEXICON = Lexicon({"good": 2.0, "dull": -2.0})


class LexiconAdapter:
    """Takes a `Lexicon`."""

    understands: ClassVar[str] = "a lexicon"

    def recognises(self, model: object) -> bool:
        """Return whether it is one."""
        return isinstance(model, Lexicon)

    def adapt(self, model: Any, tokenizer: Any, *, name: str | None) -> Callable:
        """Return the lexicon as a black box."""

        def predict(texts: list[str]) -> np.ndarray:
            logits = np.array([sum(map(model, text.split())) for text in texts])
            return 1 / (1 + np.exp(-np.stack([-logits, logits], axis=1)))

        return Callable(predict, ["neg", "pos"], name=name or "lexicon")
