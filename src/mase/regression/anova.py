"""Interactions of zeros and ones as a random function: its kernel, and exact integrals over the laws of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from mase.arrays import Floats
from mase.regression.laws import Laws, Mixture

__all__ = ["Coefficients", "InteractionKernel"]


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The coefficients of least squares on all rows that laws can draw, as integrals of the responses.

    Attributes
    ----------
    shares, means
        Share of each law in each coefficient `(m, p)`, and the mean signs of the coordinates under it `(m, p)`.
    precisions
        1 over the variances of the signs about their means under each law `(p,)`; 0 for one that never varies.

    Coefficients under several mixtures have an axis for the mixtures before these.
    """

    shares: Floats
    means: Floats
    precisions: Floats

    @classmethod
    def of(cls, laws: Laws) -> Self:
        """Return the coefficients on rows of some laws, by their shares."""
        return cls.of_mixture(laws.mixture())

    @classmethod
    def of_mixture(cls, mixture: Mixture) -> Self:
        """Return the coefficients on rows of a mixture of laws."""
        return cls._with(mixture.shares, mixture.rates)

    @classmethod
    def of_each(cls, mixtures: Sequence[Mixture]) -> Self:
        """Return the coefficients on rows of each of several mixtures of equally many laws."""
        return cls._with(np.stack([one.shares for one in mixtures]), np.stack([one.rates for one in mixtures]))

    @classmethod
    def _with(cls, shares: Floats, rates: Floats) -> Self:
        means = 2 * rates - 1
        return cls(shares, means, _inverse((shares * (1 - means**2)).sum(axis=-2)))

    def solved(self, values: Floats) -> Floats:
        """Return the coefficients `(n, p)` of responses whose covariances with the signs are `values` `(n, p)`.

        A coordinate is half of its sign, hence the factor 2.
        """
        return np.asarray(2 * values * self.precisions[..., None, :])


@dataclass(frozen=True, slots=True)
class InteractionKernel:
    """A random function of signs s with the kernel prod_j (1 + rho_j s_j s'_j), without constant and linear terms.

    Its variance under fair coins is 1.

    Attributes
    ----------
    weights
        rho `(p,)`, each from 0 up to but not 1. With weights near 1 each row has a value of its own.
    log_norm
        The logarithm of what the kernel is divided by.
    """

    weights: Floats
    log_norm: float

    @classmethod
    def of(cls, weights: Floats) -> Self:
        """Return the function for some weights `(p,)`, p > 1."""
        total = float(np.log1p(weights).sum())
        return cls(weights, total + float(np.log(-np.expm1(np.log1p(weights.sum()) - total))))

    def gram(self, signs: Floats) -> Floats:
        """Return the covariance `(u, u)` of the values at rows of signs `(u, p)`."""
        if self.log_norm > 0:
            linear = np.column_stack([np.ones(len(signs)), signs * np.sqrt(self.weights)])
            logs = self._logs(signs, self.weights, -self.log_norm)
            np.exp(logs, out=logs)
            logs -= _products(linear * np.exp(-self.log_norm / 2))
            return logs
        # Without the factor of the largest weight, which may be near 1, what is subtracted is as small as the rest.
        largest = int(self.weights.argmax())
        first = 1 + self.weights[largest] * np.outer(signs[:, largest], signs[:, largest])
        rest, signs = np.delete(self.weights, largest), np.delete(signs, largest, axis=1)
        kernel = self._logs(signs, rest)
        np.expm1(kernel, out=kernel)
        kernel *= first
        kernel -= _products(signs * np.sqrt(rest))
        kernel *= np.exp(-self.log_norm)
        return kernel

    @staticmethod
    def _logs(signs: Floats, weights: Floats, offset: float = 0.0) -> Floats:
        """Return logarithms `(u, u)` of the products of 1 + w_j s_j s'_j for rows of signs `(u, p)`, plus `offset`."""
        up, down = np.log1p(weights), np.log1p(-weights)
        logs = _products(signs * np.sqrt((up - down) / 2))
        logs += (up + down).sum() / 2 + offset
        return logs

    def cross_covariance(self, signs: Floats, target: Coefficients) -> Floats:
        """Return the covariance `(u, p)` of the values at rows of signs `(u, p)` with the coefficients."""
        products, even, odd = self._with_values(signs, target.shares, target.means)
        found = products @ even + signs * (products @ odd)
        return np.asarray(target.solved(found) - 2 * np.exp(-self.log_norm) * self.weights * signs)

    def weighted_cross_covariance(self, signs: Floats, targets: Coefficients, pulls: Floats) -> Floats:
        """Return the sums `(w, p)` over rows of these covariances, times numbers `(u,)`, for w mixtures."""
        shape = targets.means.shape
        joined = (each.reshape(-1, shape[-1]) for each in (targets.shares, targets.means))
        products, even, odd = self._with_values(signs, *joined)
        products *= pulls[:, None]
        found = products.sum(axis=0)[:, None] * even + (products.T @ signs) * odd
        linear = 2 * np.exp(-self.log_norm) * self.weights * (pulls @ signs)
        return np.asarray(targets.solved(found.reshape(shape).sum(axis=-2, keepdims=True))[:, 0] - linear)

    def _with_values(self, signs: Floats, shares: Floats, means: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what the covariance `(u, p)` of values at rows with signs under m laws is made of.

        It is P A + s (P B), with P `(u, m)`, and A and B `(m, p)`.
        """
        weights = self.weights
        # Factors 1 + rho m s and their derivatives are linear in a sign s.
        up, down = 1 + weights * means, 1 - weights * means
        logs = np.log(up * down).sum(axis=1) / 2 + signs @ (np.log(up / down) / 2).T
        above, below = (means + weights) / up, (means - weights) / down
        products = np.exp(logs - self.log_norm)
        return products, shares * ((above + below) / 2 - means), shares * ((above - below) / 2)

    def coefficient_covariance(self, target: Coefficients) -> Floats:
        """Return the covariance `(p, p)` of the coefficients."""
        first, second, own = self._of_covariances(target)
        linear = 4 * np.exp(-self.log_norm) * self.weights
        return np.asarray(target.solved(target.solved(first.T @ second + np.diag(own)).T) - np.diag(linear))

    def coefficient_variances(self, target: Coefficients) -> Floats:
        """Return the variances `(p,)` of the coefficients."""
        first, second, own = self._of_covariances(target)
        covariances = (first * second).sum(axis=0) + own
        return np.asarray(4 * (covariances * target.precisions**2 - np.exp(-self.log_norm) * self.weights))

    def _of_covariances(self, target: Coefficients) -> tuple[Floats, Floats, Floats]:
        """Return the covariance A'B + diag(c) of the values' covariances with the signs: `(k, p)` twice and `(p,)`.

        There are k pairs of laws.
        """
        means, weights = target.means, self.weights
        one, other = (index.ravel() for index in np.indices((len(means), len(means))))
        factors = 1 + weights * means[one] * means[other]
        products = np.exp(np.log(factors).sum(axis=1) - self.log_norm)[:, None] * target.shares[one]
        first, second = (means[one] + weights * means[other]) / factors, (means[other] + weights * means[one]) / factors
        own = (means[one] * means[other] + weights) / factors - first * second
        others = target.shares[other]
        return (
            products * (first - means[one]),
            others * (second - means[other]),
            (products * others * own).sum(axis=0),
        )


def _inverse(variances: Floats) -> Floats:
    """Return 1 over variances, and 0 where there is none."""
    return np.divide(1, variances, out=np.zeros_like(variances), where=variances > 0)


def _products(rows: Floats) -> Floats:
    """Return the products `(u, u)` of all pairs of rows `(u, k)`."""
    return np.asarray(rows @ rows.T)  # a matrix and its own transpose take half of the time of two matrices
