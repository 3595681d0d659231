"""A small classifier that the server of the tests opens."""

from mase.models import Callable
from tests.hostile.payloads import PAYLOADS

__all__ = ["LABELS", "refunds"]

# The second label tries to become markup.
LABELS = ("complaint", PAYLOADS[0])


def _probabilities(texts):
    if any("boom" in text for text in texts):
        raise RuntimeError("<b>boom</b>")
    return [[0.9, 0.1] if "refund" in text else [0.2, 0.8] for text in texts]


refunds = Callable(_probabilities, labels=LABELS)
