"""Which designs and estimators go together, and with which spaces."""

import numpy as np

from mase.errors import OptionError
from mase.regression.design import Design
from mase.regression.estimator import Estimator
from mase.regression.oracle import Oracle
from mase.regression.problem import Sample

__all__ = ["check_compatible"]


def check_compatible(oracle: Oracle, design: Design, estimator: Estimator, sample: Sample) -> None:
    """Check that the space, the design with the rows that it draws, and the estimator are compatible.

    Raises
    ------
    OptionError
        If they are not.
    """
    slopes = estimator.needs_gradients
    if oracle.binary and (slopes or not np.isin(sample.coordinates, (0.0, 1.0)).all()):
        raise OptionError(
            f"method {oracle.method!r} masks whole words, expected a design of zeros and ones and an estimator "
            "without gradients; use design='bernoulli', or a method that scales embeddings, such as 'mase-nlgp'"
        )
    uneven = not sample.exhaustive and np.ptp(sample.weights) > 0
    mixed = sample.laws is not None and np.ptp(sample.laws.shares, axis=1).any()
    if estimator.needs_base and (design.rounds > 1 or uneven or mixed):
        raise OptionError(
            f"method {oracle.method!r} draws rows with unequal weights or from several distributions, for which a "
            "closed-form moment is biased, expected a regression; use estimator='least-squares'"
        )
    if not slopes and not sample.deviations.any():
        raise OptionError(
            f"method {oracle.method!r} has rows that do not deviate from their centre, expected an estimator that "
            "uses gradients; use estimator='mean-gradient' or design='path'"
        )
    n, p = len(sample.coordinates), oracle.size
    if sample.exhaustive and n <= p and not (slopes or estimator.needs_base or sample.n_exact):
        raise OptionError(
            f"method {oracle.method!r} has a design of {n} different rows, expected more than {p} for {p} scores and "
            "an intercept; use estimator='moment', which has the text as one more row, or design='bernoulli'"
        )
