"""Max-sensitivity: how far the scores move when the text moves a little."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import CapabilityError, OptionError
from mase.metrics.perturbed_model import Nearby
from mase.metrics.protocol import Column, Instance
from mase.rng import generator

__all__ = ["MaxSensitivity"]


@dataclass(frozen=True, slots=True)
class MaxSensitivity:
    """Largest |gamma(x') - gamma(x)| / |gamma(x)| (Euclidean norms) found for n texts x' near x; the lower the better.

    Yeh et al., NeurIPS 2019, with a Monte Carlo maximum, which is a lower bound of the true one. x' stretches the
    embedding of each word, away from the method's reference, by its own factor drawn uniformly from [1 - radius, 1 +
    radius]: a ball of the maximum norm in the words' coordinates (in captum, of the entries of the input). Scores of x
    and x' are made with the same seed, so that what is measured is not the sampling error, which `SeedAgreement`
    measures. Costs n explanations.

    Parameters
    ----------
    radius
        Of the ball; captum's 0.02 by default.
    n_draws
        How many x'; captum's 10 by default.
    """

    radius: float = 0.02
    n_draws: int = 10
    needs_rescore: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1 or self.n_draws < 1:
            raise OptionError(
                f"radius is {self.radius} and n_draws {self.n_draws}, expected a radius between 0 and 1 and an integer >= 1"
            )

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column(f"radius {self.radius:g}", "lower"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the largest relative change `(1,)`; NaN if all scores are 0."""
        if instance.rescore is None:
            raise CapabilityError("max-sensitivity needs a method, expected no scores that were made elsewhere")
        size = float(np.linalg.norm(instance.scores))
        if size == 0:
            return np.array([np.nan])
        rng = generator(instance.seed, f"max-sensitivity of {instance.text}")
        factors = 1 + self.radius * rng.uniform(-1, 1, size=(self.n_draws, len(instance.scores)))
        moved = [instance.rescore(Nearby(instance.model, one), instance.seed) for one in factors]
        return np.array([max(float(np.linalg.norm(one - instance.scores)) for one in moved) / size])
