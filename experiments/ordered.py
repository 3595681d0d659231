"""Compare scores that stand for what is lost once the words before are gone with those of `mase`.

A score of `mase` stands for rows that mask the strong words, the same rows for all words. Here the rows of a word mask
the words that rank before it: none for the first word, the first for the second. Validation texts are explained with
1,000 samples under every candidate, from the same rows. Every text goes to RECORDS as a line of JSON for each candidate
as soon as it is done, so that an interrupted run continues where it stopped. Targets may run side by side:

    python experiments/ordered.py DATA_DIR lstm-reuters --n-texts 30

Without a target, the page `experiments/ordered/ordered.md` is written:

    python experiments/ordered.py DATA_DIR
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from effects import Candidate, arguments, explain, method_of, report
from scipy.special import expit

from mase.arrays import Floats
from mase.designs.focused import by_rank
from mase.method import Method
from mase.methods import resolve
from mase.models.runtime import configure
from mase.regression.laws import Mixture

# Shares of fair coins, of rows that mask every word with the rate .9, and of rows that mask the words before.
CANDIDATES = {
    "ordered, .1 .3 .6": (0.1, 0.3, 0.6),
    "ordered, .15 .25 .6": (0.15, 0.25, 0.6),
    "ordered, .05 .25 .7": (0.05, 0.25, 0.7),
}
# There are rows for so many numbers of words before. These words are masked with the highest rate and the others with
# the lowest; it falls over so many ranks (the scale of a logistic curve).
NUMBERS, HIGHEST, LOWEST, SOFTNESS = 6, 0.97, 0.02, 1.0
HERE = Path(__file__).with_suffix("")


@dataclass(frozen=True, slots=True)
class Ordered(Candidate):
    """The design `focused` with scores for what is lost once the words before are gone."""

    def aim(self, gamma: Floats) -> list[Mixture]:
        """Return the mixture of laws that each of w scores `(w, p)` stands for.

        The words before a word are at most as many as `n_top` and a third of the words. Between two of the numbers of
        words a word has a share of both.
        """
        p = gamma.shape[1]
        ranks, top = np.arange(p), min(self.n_top, p / 3)
        numbers = top * np.linspace(0, 1, NUMBERS)[:, None] ** 2
        masked = LOWEST + (HIGHEST - LOWEST) * expit((numbers - ranks) / SOFTNESS)
        place = np.sqrt(np.minimum(ranks, top) / top) * (NUMBERS - 1)
        own = np.maximum(1 - np.abs(place - np.arange(NUMBERS)[:, None]), 0)
        fair, sparse, before = self.of_laws
        one = np.ones((1, p))
        return [
            Mixture(
                np.concatenate([fair * one, sparse * one, before * some]),
                np.concatenate([0.5 * one, (1 - self.p_high) * one, 1 - rates]),
            )
            for some, rates in zip(by_rank(gamma, own), by_rank(gamma, masked), strict=True)
        ]


INTRODUCTION = """\
# Scores for what is lost once the words before are gone

Validation texts, explained with 1,000 samples in float32 (AMD EPYC). `mase` and the three candidates have the same
rows, and differ in what scores stand for. The figures are the shares of fair coins, of rows that mask every word with
the rate .9, and of rows that mask the words that rank before a word. Delta Accuracy is the mean over k = 1 ... 15.
Below each figure: by how much `mase` is ahead on the same texts, with a paired 95 % interval (a bootstrap over texts);
of sufficiency, lower is better. `experiments/ordered.py` made this page; its first lines say how to repeat it.
[The decision](../../docs/decisions/2026-11-25-words-before.md) says what follows.
"""


def methods() -> list[Method]:
    """Return `mase`, the candidates, and a search with as many evaluations."""
    candidates = [method_of(name, Ordered(of_laws=shares)) for name, shares in CANDIDATES.items()]
    return [method_of("mase", Candidate()), *candidates, resolve("greedy-search", n_samples=1000)]


def main() -> None:
    """Explain the texts of a target, or write the page."""
    args = arguments(__doc__, HERE)
    configure(1)
    if args.target is None:
        report(args.records, INTRODUCTION, HERE / "ordered.md")
    else:
        explain(args.target, args, methods())


if __name__ == "__main__":
    main()
