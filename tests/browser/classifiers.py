"""Small classifiers that the server of the tests opens."""

from mase.models import Callable
from tests.hostile.payloads import PAYLOADS

__all__ = ["broken", "markup", "refunds"]


def _refunds(texts):
    return [[0.9, 0.1] if "refund" in text else [0.2, 0.8] for text in texts]


def _broken(texts):
    if any("boom" in text for text in texts):
        raise RuntimeError("<b>boom</b>")
    return _refunds(texts)


refunds = Callable(_refunds, labels=["complaint", "praise"])
broken = Callable(_broken, labels=["complaint", "praise"])
# Its labels try to become markup.
markup = Callable(_refunds, labels=PAYLOADS[:2])
