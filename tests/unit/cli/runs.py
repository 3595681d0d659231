"""Runs of `mase explain` in processes of their own, and the files of results that they leave."""

import os
import subprocess
import sys
from contextlib import contextmanager

from mase.attribution.json import load_many

NUMBERED = [f"a good film number {n}" for n in range(12)]

# Scores that depend on the seed, of an estimator that takes no time.
FAST = ("--n-samples", "20", "--method", "mase+estimator=least-squares")

# The command in a process of its own, on a black box that comes to no end at the text that HANG names, and that makes
# the file that HANGING names before.
PROGRAM = f"""
FAST = {FAST}
import os, signal, sys, time, mase
from mase.cli import main
from mase.testing import AdditiveClassifier
answer = AdditiveClassifier({{"good": 0.4, "dull": -0.4}}, constant=0.55)  # as `tests.labelled_texts` has it
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits it ignored
def predict(texts):
    while any(text.endswith(os.environ["HANG"]) for text in texts):
        open(os.environ["HANGING"], "w").close()
        time.sleep(0.1)
    return answer(texts)
import mase.models.open
mase.models.open.load = lambda *a, **k: mase.models.Callable(predict, labels=["neg", "pos"])
main(["explain", *FAST, "-q", *sys.argv[1:]])
"""


@contextmanager
def process(*arguments, hang="nowhere", hanging=os.devnull, **settings):
    environment = os.environ | {"HANG": hang, "HANGING": os.fspath(hanging)}
    settings = {"stderr": subprocess.PIPE, "text": True, "env": environment} | settings
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, arguments)], **settings) as running:
        try:
            yield running
        finally:
            running.kill()  # where a test has failed


def finished(*arguments, **settings):
    with process(*arguments, **settings) as running:
        _, errors = running.communicate(timeout=600)
    return running.returncode, errors


def texts_in(path):
    """Texts of the results in a file, after a check that all its lines are whole."""
    assert path.read_bytes().endswith(b"\n")
    return [result.text for result in load_many(path)]


def same(path, other):
    """Whether two files hold equal results: all but the seconds that they took."""
    return load_many(path) == load_many(other)
