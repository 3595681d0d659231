"""An additive model of words, and cases for metrics on its texts."""

import numpy as np

from mase.metrics.base import Instance
from mase.metrics.masking import masker
from mase.testing import AdditiveClassifier

TEXT = "the cast is superb but the plot is dull and that's all"


WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "good": 0.09, "all": 0.03, "but": -0.05}


additive = AdditiveClassifier(WORTH)


def worths(text=TEXT):
    return np.array([WORTH.get(word, 0.0) for word in text.split()])


def case(model, text=TEXT, scores=None, **given):
    bound = masker(model, text)
    return Instance(model, text, bound.target, bound, worths(text) if scores is None else np.asarray(scores), **given)


def rows_of(n_words, n=6, seed=0):
    kept = np.random.default_rng(seed).random((n, n_words)) < 0.6
    kept[0], kept[1] = True, False
    return kept
