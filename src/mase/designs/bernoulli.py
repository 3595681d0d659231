"""The two-point law: each word is kept (1) or taken out (0). The law of LIME and of every black box."""

from dataclasses import dataclass

import numpy as np

from mase.designs.placement import mirrored, pair_count
from mase.errors import OptionError
from mase.regression.covariance import Covariance
from mase.regression.problem import Law, Sample

__all__ = ["Bernoulli"]


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Fair coins, each row with its complement: c and 1 - c are mirror images about 1/2."""

    def draw(self, rng: np.random.Generator, n: int, law: Law) -> Sample:
        """Return the largest even number of rows up to n.

        Raises
        ------
        OptionError
            If the law is not that of fair coins: centre 1/2, uncorrelated, standard deviation 1/2.
        """
        deviations = law.covariance.deviations
        if law.center != 0.5 or not law.covariance.is_diagonal or not np.allclose(deviations, 0.5):
            raise OptionError(
                f"center {law.center} and sigma {deviations.min():.3g} to {deviations.max():.3g} given, expected 0.5 and 0.5: "
                "a two-point design has no other law; leave both out, or use design='antithetic'"
            )
        coins = rng.integers(0, 2, size=(pair_count(n), law.covariance.size)).astype(np.float64) - 0.5
        fair = Law(0.5, Covariance(np.full(law.covariance.size, 0.5)))
        return mirrored(coins, fair)
