"""Classifiers for the tests of runs, which worker processes import from here."""

import os
import sys
import time
from pathlib import Path

import numpy as np

WORTH = {"good": 0.25, "superb": 0.125, "dull": -0.25}


def judge(texts):
    """Return class probabilities; a text may say how it is not to be explained."""
    pause = os.environ.get("MASE_TEST_PAUSE")
    if pause:  # a folder, in which each process leaves its number, and says that it hangs at the text that a file names
        (Path(pause) / str(os.getpid())).touch()
        if any((Path(pause) / "hang").read_text() in text for text in texts):
            (Path(pause) / "hangs").touch()
            time.sleep(600)
    for text in texts:
        words = text.split()
        if "exits" in words:
            sys.stdout.write("printed by the model\n")
            os._exit(3)
        if "hangs" in words:
            time.sleep(60)
        if "interrupts" in words:
            raise KeyboardInterrupt
        if "raises" in words:
            raise ValueError("not this one")
        if "unsuited" in words:
            from mase.errors import CapabilityError

            raise CapabilityError("never with this method")
    positive = np.array([0.5 + sum(WORTH.get(word, 0.0) for word in set(text.split())) for text in texts])
    return np.stack([1 - positive, positive], axis=1)


def halves(text):
    """Return the spans of what is before and after the last space of a text."""
    at = text.rindex(" ")
    return [(0, at), (at + 1, len(text))]
