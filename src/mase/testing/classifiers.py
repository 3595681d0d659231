"""Text classifiers with known attributions: plain functions, to be explained as black boxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.text import find_words

__all__ = ["AdditiveClassifier", "LogisticClassifier"]


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
