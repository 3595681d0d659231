"""Quadrature nodes on the straight path from the reference to the text: the rows of integrated gradients."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["GaussLegendre"]

# Largest number of nodes per segment: accurate beyond the precision of a model, and fast to compute.
_LARGEST_ORDER = 256


@dataclass(frozen=True, slots=True)
class GaussLegendre:
    """Rows c = alpha 1 at the Gauss-Legendre nodes alpha in (0, 1), with the quadrature's weights.

    The path is divided into equal segments of at most 256 nodes each. No row deviates from the path, so only estimators
    that use gradients can work with these rows.
    """

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return a nominal distribution with unit covariance; nothing is drawn from it."""
        p = np.count_nonzero(scale)
        return Distribution(1.0, Covariance(np.ones(p)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        del rng
        p = distribution.covariance.size
        nodes, weights = _quadrature(n)
        rows = np.repeat(nodes[:, None], p, axis=1)
        deviations = np.zeros((n, p))
        return Sample(rows, deviations, weights, False, None, distribution.covariance, divisible=False, exhaustive=True)


def _quadrature(n: int) -> tuple[Floats, Floats]:
    """Return n nodes in (0, 1) and their weights, which sum to 1.

    A rule of order n costs n^3, so beyond `_LARGEST_ORDER` the path is divided into equal segments with one rule each.
    """
    orders = [len(part) for part in np.array_split(np.arange(n), -(-n // _LARGEST_ORDER))]
    rules = {order: np.polynomial.legendre.leggauss(order) for order in set(orders)}
    nodes = [segment + (rules[order][0] + 1) / 2 for segment, order in enumerate(orders)]
    weights = [rules[order][1] / 2 for order in orders]
    return np.concatenate(nodes) / len(orders), np.concatenate(weights) / len(orders)
