"""The additive model as an adapter."""

import pytest
from tests.unit.metrics.additive import additive

from mase.models import Callable


@pytest.fixture(scope="module")
def additive_model():
    return Callable(additive, labels=["neg", "pos"])
