"""Explanations of probes, and what is said about them."""

import numpy as np

from mase.measure import measure
from mase.methods import resolve


def run(probe, method="mase-nlgp", seed=0, **overrides):
    return measure(probe, resolve(method, link="logit", **overrides), 0, np.random.default_rng(seed))
