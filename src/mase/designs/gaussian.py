"""Designs of Gaussian weights: independent, antithetic, orthogonal, moment-matched, Sobol, and along a path."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from mase.arrays import Floats
from mase.designs.placement import Gaussian, mirrored, pair_count, single
from mase.errors import OptionError, TooFewSamplesError
from mase.solve.distributions import Covariance
from mase.solve.problem import Design, Distribution, Sample


@dataclass(frozen=True, slots=True, eq=False)
class Iid(Gaussian):
    """n independent rows c ~ N(center, Sigma) (Definition NLGP)."""

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        return single(
            distribution.covariance.color(rng.standard_normal((n, distribution.covariance.size))), distribution
        )


@dataclass(frozen=True, slots=True, eq=False)
class Antithetic(Gaussian):
    """n/2 independent Gaussian rows z, each with its mirror image -z."""

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        noise = rng.standard_normal((pair_count(n), distribution.covariance.size))
        return mirrored(distribution.covariance.color(noise), distribution)


@dataclass(frozen=True, slots=True, eq=False)
class Orthogonal(Gaussian):
    """Blocks of p orthogonal directions, each row with its mirror image.

    Notes
    -----
    The length of a row is drawn from the chi distribution with p degrees of freedom. Each single row then has the
    distribution N(0, Sigma), and the estimand is that of the paper; fixed lengths sqrt(p) would change it by O(1/p).
    The standard errors of `Moment` assume independent rows and are too large on these.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        m, p = pair_count(n), distribution.covariance.size
        noise = np.concatenate([_block(rng, p, min(m, p)) for _ in range(-(-m // p))])[:m]
        lengths = np.sqrt(rng.chisquare(p, size=(m, 1)))
        return mirrored(distribution.covariance.color(noise * lengths), distribution)


def _block(rng: np.random.Generator, p: int, m: int) -> Floats:
    """Return m orthonormal rows `(m, p)` of a uniform (Haar) random rotation."""
    # The factorisation fixes the signs of R's diagonal; multiplying by them makes Q uniform.
    if m == p:
        q, r = np.linalg.qr(rng.standard_normal((p, p)))
        return np.asarray(q * np.sign(np.diag(r)))
    q, r = np.linalg.qr(rng.standard_normal((p, m)))
    return np.asarray((q * np.sign(np.diag(r))).T)


@dataclass(frozen=True, slots=True, eq=False)
class MomentMatched(Gaussian):
    """n Gaussian rows, centred and whitened by their sample moments, then coloured by Sigma.

    On these rows, the formula of Theorem 1 equals least squares with an intercept, up to rounding, for any n > p. Only
    the complete sample has these moments, so a stopping rule cannot stop early.

    Notes
    -----
    The standard errors of `Moment` assume independent rows and are several times too large on these.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows.

        Raises
        ------
        TooFewSamplesError
            If n <= p: so few rows cannot have second moments Sigma.
        """
        p = distribution.covariance.size
        if n <= p:
            raise TooFewSamplesError(
                f"n_samples leaves {n} for the scores, expected more than {p}, the number of coordinates, for "
                "method='NAME+design=moment-matched'; use a larger n_samples"
            )
        noise = rng.standard_normal((n, p))
        noise -= noise.mean(axis=0)
        factor = np.linalg.cholesky(noise.T @ noise / n)
        return replace(
            single(distribution.covariance.color(np.linalg.solve(factor, noise.T).T), distribution), divisible=False
        )


# Resolution of scipy's Sobol points, which are multiples of 2**-30.
_BITS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Sobol(Gaussian):
    """The first n of 2^m scrambled Sobol points; they are balanced if n is a power of two.

    Notes
    -----
    The points are not independent. Standard errors assume independence and tend to be too large.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows.

        Raises
        ------
        OptionError
            If there are more coordinates than Sobol sequences have dimensions.
        """
        p = distribution.covariance.size
        if p > qmc.Sobol.MAXDIM:
            raise OptionError(
                f"the text has {p} coordinates, expected at most {qmc.Sobol.MAXDIM} for the design 'sobol'; use "
                "method='NAME+design=orthogonal'"
            )
        points = qmc.Sobol(p, scramble=True, rng=rng).random_base2(int(np.ceil(np.log2(n))))[:n]
        half = 2.0 ** -(_BITS + 1)  # Clip by half a step, because 0 and 1 map to infinity.
        return single(distribution.covariance.color(ndtri(np.clip(points, half, 1 - half))), distribution)


@dataclass(frozen=True, slots=True, eq=False)
class Path(Gaussian):
    """Pairs (alpha + z, alpha - z) with alpha stratified over (0, 1) and z in orthogonal blocks.

    The coefficients estimate the smoothed gradient with respect to the coordinates, averaged over the path. Their sum
    tends to F(1) - F(0) as sigma goes to 0: they are smoothed integrated gradients, computed without gradients. The
    centre of the distribution is not used.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        deviations = Orthogonal().draw(rng, n, distribution).deviations[0::2]
        return mirrored(deviations, distribution, _strata(rng, len(deviations)))


def _strata(rng: np.random.Generator, m: int) -> Floats:
    """Return m points in random order, one drawn uniformly from each of m equal parts of (0, 1)."""
    return np.asarray((rng.permutation(m) + rng.random(m)) / m)


# Largest number of nodes per segment: accurate beyond the precision of a model, and fast to compute.
_LARGEST_ORDER = 256


@dataclass(frozen=True, slots=True)
class GaussLegendre(Design):
    """Rows c = alpha 1 at the Gauss-Legendre nodes alpha in (0, 1), with the quadrature's weights.

    The path is divided into equal segments of at most 256 nodes each. No row deviates from the path, so only estimators
    that use gradients can work with these rows.
    """

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


@dataclass(frozen=True, slots=True)
class TextOnly(Design):
    """A single row, c = 1, for estimators that use gradients: the limit of NLGP as sigma goes to 0."""

    def distribution(self, scale: Floats) -> Distribution:
        """Return a nominal distribution with unit covariance; nothing is drawn from it."""
        p = np.count_nonzero(scale)
        return Distribution(1.0, Covariance(np.ones(p)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the single row."""
        del rng, n
        p = distribution.covariance.size
        row, deviation = np.ones((1, p)), np.zeros((1, p))
        return Sample(row, deviation, np.ones(1), False, 1.0, distribution.covariance, divisible=False, exhaustive=True)
