"""Models of code that do what the text says: the servers of tests open them in processes of their own."""

import os
import time

import numpy as np

from mase.models import Callable

LABELS = ("neg", "pos")


def _scores(contents):
    texts = [one if isinstance(one, str) else " ".join(map(str, one.values())) for one in contents]
    for text in texts:
        if "raises" in text:
            raise ValueError("<b>the model</b> gave up")
        if "hangs" in text:
            time.sleep(1000)
        if "exits" in text:
            os._exit(3)
        if "memory" in text:
            _exhaust()
        if "slow" in text:
            time.sleep(0.002)
    odds = [1.5 * text.count("good") - 2.0 * text.count("bad") for text in texts]
    p = 1 / (1 + np.exp(-np.array(odds)))
    return np.stack([1 - p, p], axis=1)


def _exhaust():
    """Ask for more memory than this process may have."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    np.ones(1 << 30)


judge = Callable(_scores, labels=LABELS)


def broken(texts):
    """A function whose labels cannot be known, because it fails. UTF-8 cannot encode what it says."""
    raise RuntimeError("<i>broken</i> from the start: caf\udce9")


def __getattr__(name):
    """End the process when the model `deadly` is opened."""
    if name == "deadly":
        os._exit(7)
    raise AttributeError(name)
