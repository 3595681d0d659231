"""Small classifiers that the server of the tests opens."""

from mase.models import Callable
from tests.hostile.payloads import PAYLOADS

__all__ = ["LABELS", "loans", "refunds", "topics"]

# The second label tries to become markup.
LABELS = ("complaint", PAYLOADS[0])


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


refunds = Callable(_probabilities, labels=LABELS)
loans = Callable(_loans, labels=["refused", "granted"])
topics = Callable(_topics, labels=["praise", "complaint"], multilabel=True)
