"""Masking in rounds that turns to the words that matter: what stands behind a word shows only once the word is out."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mase.arrays import Floats
from mase.errors import OptionError
from mase.regression.covariance import Covariance
from mase.regression.problem import Law, Sample

__all__ = ["Focused"]


@dataclass(frozen=True, slots=True)
class Focused:
    """Rows of zeros and ones in rounds: first fair coins, then coins that take out the words with high scores more often.

    After each round the words are ranked by their scores so far, and word number r (from 0) is out with probability
    seldom + (often - seldom) / (1 + exp((r - n_top) / softness)) in the next. All rounds together pose one regression:
    its coefficients are the average effect of a word where its strongest companions are mostly out already, which is
    where an explanation is put to the test. With one word left of several that say the same, a sample about the whole
    text, or about half of it, mostly sees no effect of any of them.

    Parameters
    ----------
    rounds
        Rounds of equal size.
    n_top
        How many words are mostly out; at most a third of those of the text.
    often, seldom
        Probabilities that the highest and the lowest words of a long text are out. With few words they are not reached:
        of nine words the highest is out with .64 and the lowest with .28.
    softness
        Over how many ranks the one turns into the other (the scale of a logistic curve).
    """

    rounds: int = 5
    n_top: int = 15
    often: float = 0.9
    seldom: float = 0.1
    softness: float = 4.0

    def __post_init__(self) -> None:
        for name in ("rounds", "n_top"):
            if not isinstance(getattr(self, name), int):
                raise OptionError(f"{name} is {getattr(self, name)!r}, expected an integer")
        if self.rounds < 1 or self.n_top < 1 or not self.softness > 0:
            raise OptionError(
                f"rounds is {self.rounds}, n_top {self.n_top} and softness {self.softness}, expected rounds and n_top >= 1 "
                "and softness > 0"
            )
        if not 0 < self.seldom <= self.often < 1:
            raise OptionError(f"seldom is {self.seldom} and often {self.often}, expected 0 < seldom <= often < 1")

    def law(self, widths: Floats) -> Law:
        """Return the law of the first round: p fair coins."""
        p = np.count_nonzero(widths)
        return Law(0.5, Covariance(np.full(p, 0.5)))

    def draw(self, rng: np.random.Generator, n: int, law: Law, gamma: Floats | None = None) -> Sample:
        """Return n rows: of fair coins, or turned to the words whose coefficients `(p,)` are high so far."""
        p = law.covariance.size
        if gamma is None:
            return _tossed(rng, n, np.full(p, 0.5), law)
        ranks = np.empty(p)
        ranks[np.argsort(-gamma, kind="stable")] = np.arange(p)
        near = expit((min(self.n_top, p / 3) - ranks) / self.softness)
        return _tossed(rng, n, self.seldom + (self.often - self.seldom) * near, law)


def _tossed(rng: np.random.Generator, n: int, out: Floats, law: Law) -> Sample:
    """Return n rows whose words are out with the probabilities `out` `(p,)`."""
    kept = (rng.random((n, len(out))) >= out).astype(np.float64)
    return Sample(kept, kept - law.center, np.ones(len(kept)), False, law.center, law.covariance)
