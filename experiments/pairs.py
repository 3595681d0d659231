"""Explain two words that need each other, or cancel, with many seeds. Prints their scores and what intervals cover.

Two of the words of a text are such a pair, and two others count a little. The figures are quoted in
`docs/decisions/2026-11-24-many-ways-to-the-laws.md`.

    python experiments/pairs.py [--n-seeds 20] [--words 20 60]
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np

import mase
from mase.arrays import Floats

PAIR, OTHERS = ("w1", "w3"), ("w5", "w7")
KINDS = {"need each other": np.logical_and, "cancel": np.logical_xor}
Z = 1.96


def classifier(kind: str) -> Callable[[Sequence[str]], Floats]:
    """Return the probabilities of two classes `(n, 2)` as a function of n texts."""

    def predict(texts: Sequence[str]) -> Floats:
        words = [set(text.split()) for text in texts]
        first, second = (np.array([word in one for one in words]) for word in PAIR)
        others = np.array([[word in one for word in OTHERS] for one in words]).sum(axis=1)
        positive = 1 / (1 + np.exp(0.7 - 2.0 * KINDS[kind](first, second) - 0.05 * others))
        return np.column_stack([1 - positive, positive])

    return predict


def main() -> None:
    """Explain, and print a line for each kind, length and word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-seeds", type=int, default=20)
    parser.add_argument("--words", type=int, nargs="+", default=[20, 60])
    args = parser.parse_args()
    for kind in KINDS:
        for p in args.words:
            text = " ".join(f"w{number}" for number in range(p))
            found = [
                mase.explain(text, classifier(kind), target=1, seed=seed, evidence=0) for seed in range(args.n_seeds)
            ]
            scores, errors = np.array([one.scores for one in found]), np.array([one.standard_errors for one in found])
            inside = np.abs(scores - scores.mean(axis=0)) <= Z * errors
            for word in (int(name[1:]) for name in PAIR):
                print(  # noqa: T201
                    f"{kind}, {p} words, w{word}: mean {scores[:, word].mean():+.3f}, standard deviation "
                    f"{scores[:, word].std():.3f}, covered {inside[:, word].mean():.2f}, width of an interval "
                    f"{2 * Z * errors[:, word].mean():.3f}"
                )


if __name__ == "__main__":
    main()
