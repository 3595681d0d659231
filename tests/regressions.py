"""Explanations of probes, and what is said about them."""

import numpy as np

from mase.methods import resolve
from mase.pipeline import measure


def run(probe, method="mase-nlgp", seed=0, **overrides):
    return measure(probe, resolve(method, link="logit", **overrides), 0, np.random.default_rng(seed))
