"""The two values that pass between designs and estimators: a `Sample` of points and the `Problem` it poses."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from mase.arrays import Floats, Ints
from mase.regression.covariance import Covariance, no_scatter

__all__ = [
    "Design",
    "Distribution",
    "Estimate",
    "Estimator",
    "Problem",
    "Sample",
    "Solver",
]


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of the coordinates: mean `center` (a number for all p) and covariance Sigma.

    The paper's NLGP is `center = 1`: the text itself. 0 is the reference.
    """

    center: float
    covariance: Covariance


@dataclass(frozen=True, slots=True)
class Sample:
    """n points at which to ask the model.

    Attributes
    ----------
    coordinates
        `(n, p)`: where to ask.
    deviations
        `(n, p)`: z, the regressors: coordinates minus the centre of the row.
    weights
        `(n,)`: weight of each row in a regression.
    paired
        Rows 2i and 2i+1 are mirror images (z, -z) about one centre, and count as one independent unit.
    center
        The one centre of all rows, or None where rows have different ones (along a path).
    covariance
        Sigma of the distribution of z.
    divisible
        Whether the first rows alone are a sample of the same kind.
    exhaustive
        Whether the rows are all that there are and nothing was drawn, so that coefficients have no sampling error.
    n_exact
        How many of the first independent rows have infinite weight: a constrained estimator meets them, others leave
        them out.
    """

    coordinates: Floats
    deviations: Floats
    weights: Floats
    paired: bool
    center: float | None
    covariance: Covariance
    divisible: bool = True
    exhaustive: bool = False
    n_exact: int = 0

    def head(self, n: int) -> "Sample":
        """Return the sample of the first n rows (mirror images stay together: n is even if rows are paired)."""
        assert not (self.paired and n % 2)
        rows = slice(n)
        return replace(
            self, coordinates=self.coordinates[rows], deviations=self.deviations[rows], weights=self.weights[rows]
        )

    def joined(self, more: "Sample") -> "Sample":
        """Return the sample of these rows and then `more` of the same centre."""
        assert self.center == more.center
        assert self.paired == more.paired
        return replace(
            self,
            coordinates=np.concatenate([self.coordinates, more.coordinates]),
            deviations=np.concatenate([self.deviations, more.deviations]),
            weights=np.concatenate([self.weights, more.weights]),
        )

    def problem(self, responses: Floats, base: float | None, gradients: Floats | None = None) -> "Problem":
        """Return the regression problem that `responses` `(n,)` (and their `gradients` `(n, p)`) at these points pose.

        `base` is the response at the centre. Mirrored rows become half differences, which have neither a base nor an
        intercept: every even-order term of the model cancels.
        """
        if not self.paired:
            return self._posed(self.deviations, responses, self.weights, base, gradients)
        odd = (responses[0::2] - responses[1::2]) / 2
        weights = (self.weights[0::2] + self.weights[1::2]) / 2
        slopes = None if gradients is None else (gradients[0::2] + gradients[1::2]) / 2
        return self._posed(self.deviations[0::2], odd, weights, 0.0, slopes)

    def _posed(self, z: Floats, y: Floats, weights: Floats, base: float | None, gradients: Floats | None) -> "Problem":
        """Return the problem of independent rows, the exact ones set apart."""
        m = self.n_exact
        exact = (z[:m], y[:m]) if m else None
        slopes = None if gradients is None else gradients[m:]
        return Problem(z[m:], y[m:], weights[m:], base, not self.paired, self.covariance, slopes, exact)


@dataclass(frozen=True, slots=True)
class Problem:
    """Estimate gamma `(p,)` from y ~ intercept + z.gamma, rows independent.

    Attributes
    ----------
    z, y, weights
        Regressors `(n, p)`, responses `(n,)` and weights `(n,)`.
    base
        Response at z = 0 (what Theorem 1 subtracts); None if it was not asked.
    intercept
        Whether a regression needs an intercept (mirrored rows do not).
    covariance
        Sigma of the distribution of z.
    gradients
        `(n, p)` derivatives of the response by the coordinates, for white-box estimators only.
    exact
        Regressors `(m, p)` and responses `(m,)` of further rows that the coefficients are to meet exactly; None without
        any.
    """

    z: Floats
    y: Floats
    weights: Floats
    base: float | None
    intercept: bool
    covariance: Covariance
    gradients: Floats | None = None
    exact: tuple[Floats, Floats] | None = None

    @property
    def n(self) -> int:
        """Number of independent rows."""
        return len(self.z)

    @property
    def p(self) -> int:
        """Number of coordinates."""
        return int(self.z.shape[1])

    def rows(self, chosen: slice) -> "Problem":
        """Return the problem posed by some of the rows."""
        gradients = None if self.gradients is None else self.gradients[chosen]
        return replace(self, z=self.z[chosen], y=self.y[chosen], weights=self.weights[chosen], gradients=gradients)

    def squares(self, values: Floats) -> float:
        """Return sum w (v - mean)^2 for values `(n,)` of the rows; the mean only with an intercept."""
        centre = np.average(values, weights=self.weights) if self.intercept else 0.0
        return float(self.weights @ (values - centre) ** 2)

    def centred(self) -> tuple[Floats, Floats]:
        """Return z `(n, p)` and y `(n,)` with the weighted mean removed (if there is an intercept), times sqrt(weight)."""
        z, y = self.z, self.y
        if self.intercept:
            share = self.weights / self.weights.sum()
            z, y = z - share @ z, y - share @ y
        if (self.weights == 1).all():
            return z, y
        root = np.sqrt(self.weights)
        return z * root[:, None], y * root


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an estimator returns: gamma `(p,)`, its covariance and the number of parameters it used up.

    `covariance` is `(p, p)`. Of more than `mase.regression.covariance.MOST_CORRELATED` coordinates it holds variances
    `(p,)` alone, and covariances count as 0. It is NaN where gamma estimates nothing. `remark` says in a sentence if
    the estimator had to do something else than it was asked for.
    """

    gamma: Floats
    covariance: Floats
    dof: float
    remark: str | None = None

    @property
    def variances(self) -> Floats:
        """Variances `(p,)` of the coefficients."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    def covariances(self, first: Ints, second: Ints) -> Floats:
        """Return the covariances `(a, b)` of some coefficients `(a,)` with others `(b,)`."""
        if self.covariance.ndim == 2:
            return self.covariance[np.ix_(first, second)]
        return np.where(first[:, None] == second, self.covariance[first][:, None], 0.0)

    def at(self, chosen: Ints) -> "Estimate":
        """Return the estimate of some of the coefficients `(a,)`."""
        spread = self.covariance[chosen if self.covariance.ndim == 1 else np.ix_(chosen, chosen)]
        return replace(self, gamma=self.gamma[chosen], covariance=spread)

    def sums(self, groups: Iterable[Ints]) -> tuple[Floats, Floats]:
        """Return the sum `(g,)` of the coefficients of each of g groups, and its standard error `(g,)`."""
        found = [(self.gamma[group].sum(), self.covariances(group, group).sum()) for group in groups]
        sums, variances = np.array(found, dtype=np.float64).reshape(-1, 2).T
        return sums, np.sqrt(np.maximum(variances, 0.0))

    def embedded(self, active: Ints, p: int) -> "Estimate":
        """Return the estimate of p coefficients that has these at `active` `(a,)` and 0, without error, elsewhere."""
        if len(active) == p:
            return self
        gamma, spread = np.zeros(p), no_scatter(p)
        gamma[active] = self.gamma
        spread[active if spread.ndim == 1 else np.ix_(active, active)] = (
            self.variances if spread.ndim == 1 else self.covariance
        )
        return replace(self, gamma=gamma, covariance=spread)


class Design(Protocol):
    """The sampling scheme: where to put n points, in one round or in several.

    All rows of the rounds pose one regression about the centre of the distribution.

    Attributes
    ----------
    rounds
        Number of rounds of equal size; 1 for a design that does not look at answers.
    """

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        ...

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of the rows.

        `scale` are the standard deviations of the coordinates per unit of sigma; those that are 0 move nothing and get
        no column, so that p is the number of the others.
        """
        ...

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return a sample of at most n rows under that distribution.

        In the rounds after the first, `gamma` `(p,)` are the coefficients of all rows so far.
        """
        ...


class Estimator(Protocol):
    """The rule from a problem to coefficients.

    Attributes
    ----------
    needs_base
        Whether it subtracts the response at the centre (Theorem 1), which then has to be asked for.
    needs_gradients
        Whether it works on gradients instead of responses (white box).
    """

    needs_base: ClassVar[bool]
    needs_gradients: ClassVar[bool]

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its covariance."""
        ...


@runtime_checkable
class Solver(Protocol):
    """An estimator whose coefficients alone cost less than with their covariance."""

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)`, that of `fit`."""
        ...
