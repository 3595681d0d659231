"""Max-sensitivity: how much the scores change when the embeddings of the words change a little."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import CapabilityError, OptionError
from mase.metrics.perturbed_model import Nearby
from mase.metrics.protocol import Column, Instance
from mase.rng import generator
from mase.scalars import check_integer, is_real

__all__ = ["MaxSensitivity"]


@dataclass(frozen=True, slots=True)
class MaxSensitivity:
    """Largest |gamma(x') - gamma(x)| / |gamma(x)| over n neighbours x' of the text x; lower is better.

    The norms are Euclidean. From Yeh et al., NeurIPS 2019. The Monte Carlo maximum is a lower bound of the true one. A
    neighbour multiplies each word's offset from the method's reference by a factor drawn uniformly from [1 - radius, 1
    + radius]. This is a ball of the maximum norm in the coordinates of the words (captum's is in the entries of the
    input). x and x' are explained with the same seed, so that sampling error is not measured; `SeedAgreement` measures
    that. Costs n explanations.

    Parameters
    ----------
    radius
        Radius of the ball; 0.02 by default, as in captum.
    n_draws
        Number of neighbours; 10 by default, as in captum.
    """

    radius: float = 0.02
    n_draws: int = 10
    needs_rescore: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_real(self.radius) or not 0 < self.radius < 1:
            raise OptionError(f"radius is {self.radius!r:.60}, expected a number between 0 and 1")
        check_integer("n_draws", self.n_draws, 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One number."""
        return (Column(f"radius {self.radius:g}", "lower"),)

    def evaluate(self, instance: Instance) -> Floats:
        """Return the largest relative change `(1,)`; NaN if all scores are 0.

        Raises
        ------
        CapabilityError
            If the text cannot be explained again.
        """
        if instance.rescore is None:
            raise CapabilityError(
                "max-sensitivity has to explain the text again, which it cannot for given attributions; leave it out"
            )
        size = float(np.linalg.norm(instance.scores))
        if size == 0:
            return np.array([np.nan])
        rng = generator(instance.seed, f"max-sensitivity of {instance.document.key}")
        factors = 1 + self.radius * rng.uniform(-1, 1, size=(self.n_draws, len(instance.scores)))
        neighbours = [instance.rescore(Nearby(instance.model, row), instance.seed) for row in factors]
        return np.array([max(float(np.linalg.norm(scores - instance.scores)) for scores in neighbours) / size])
