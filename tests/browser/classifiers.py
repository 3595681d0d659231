"""Small classifiers that the server of the tests opens."""

import time

from mase.models import Callable
from tests.hostile.payloads import PAYLOADS

__all__ = ["LABELS", "MOODS", "loans", "moods", "prices", "refunds", "slow", "topics"]

# The second label tries to become markup.
LABELS = ("complaint", PAYLOADS[0])
# Labels that are read from right to left.
MOODS = ("سلبي", "إيجابي")


def _probabilities(texts):
    if any("boom" in text for text in texts):
        raise RuntimeError("<b>boom</b>")
    return [[0.9, 0.1] if "refund" in text else [0.2, 0.8] for text in texts]


def _loans(records):
    """A plea for help counts against a loan, and so does every year that misses to 40."""
    worth = [("help" not in record["plea"]) - (40 - record["age"]) / 50 for record in records]
    return [[1 - share, share] for share in (0.5 + one / 4 for one in worth)]


def _topics(texts):
    """Two separate questions: "praise" is always the more probable answer."""
    return [[0.95, 0.8 if "refund" in text else 0.1] for text in texts]


def _moods(texts):
    return [[0.9, 0.1] if "رائع" in text else [0.2, 0.8] for text in texts]


def _slow(texts):
    time.sleep(0.02 * len(texts))
    return [[share, 1 - share] for share in (0.5 + len(set(text.split())) / 100 for text in texts)]


def _prices(texts):
    return [[10_000.0 * len(text.split())] for text in texts]


refunds = Callable(_probabilities, labels=LABELS)
loans = Callable(_loans, labels=["refused", "granted"])
topics = Callable(_topics, labels=["praise", "complaint"], multilabel=True)
moods = Callable(_moods, labels=MOODS)
slow = Callable(_slow, labels=["short", "long"])
prices = Callable(_prices, outputs="values", labels=["price"])
