"""What an estimator returns: coefficients with their covariance."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mase.arrays import Floats, Ints, equal_fields
from mase.errors import ShapeError
from mase.regression.covariance import no_scatter

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The result of an estimator: gamma `(p,)`, its covariance and its degrees of freedom.

    `covariance` is `(p, p)`. With more than `mase.regression.covariance.MOST_CORRELATED` coordinates it holds only the
    variances `(p,)`, and covariances count as 0. It is NaN if gamma estimates nothing. `fallback` is a sentence that
    says why the estimator fell back to another one; None if it did not. With a `prior` there may be few rows.
    `penalty` names what a penalty or a bound takes from gamma however many rows there are; None if there is none.
    `leverages` `(n,)` are the changes of z.gamma with the row's own centred response; None if they are unknown.
    `changes` `(n, p)` are gamma minus what it would be without the row and all rows equal to it; None if unknown.
    `of_noise` is the covariance that responses with independent errors of variance 1 would give gamma; None if unknown.
    `bias` `(p,)` is the size of what a prior takes from gamma, which is the same with every seed; None for none.
    `further` has the estimates of other effects of the coordinates, by name.
    """

    gamma: Floats
    covariance: Floats
    dof: float
    fallback: str | None = None
    prior: bool = False
    penalty: str | None = None
    leverages: Floats | None = None
    changes: Floats | None = None
    of_noise: Floats | None = None
    bias: Floats | None = None
    further: Mapping[str, "Estimate"] = field(default_factory=dict)

    __eq__ = equal_fields

    @property
    def variances(self) -> Floats:
        """Variances `(p,)` of the coefficients."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    def covariances(self, first: Ints, second: Ints) -> Floats:
        """Return the covariances `(a, b)` of some coefficients `(a,)` with others `(b,)`."""
        if self.covariance.ndim == 2:
            return self.covariance[np.ix_(first, second)]
        return np.where(first[:, None] == second, self.covariance[first][:, None], 0.0)

    def draws(self, rng: np.random.Generator, n: int, width: float = 1.0) -> Floats:
        """Return n draws `(n, p)` of independent normal values with these means, and `width` times their errors."""
        errors = width * np.sqrt(np.maximum(self.variances, 0.0))
        return self.gamma + errors * rng.standard_normal((n, len(self.gamma)))

    def at(self, chosen: Ints) -> "Estimate":
        """Return the estimate of some of the coefficients `(a,)`."""
        spread = self.covariance[chosen if self.covariance.ndim == 1 else np.ix_(chosen, chosen)]
        bias = None if self.bias is None else self.bias[chosen]
        return replace(self, gamma=self.gamma[chosen], covariance=spread, bias=bias)

    def sums(self, groups: Iterable[Ints]) -> tuple[Floats, Floats]:
        """Return the sum `(g,)` of the coefficients of each of g groups, and its standard error `(g,)`."""
        groups = list(groups)
        if all(len(group) == 1 for group in groups):
            own = np.array(groups, dtype=np.int64).ravel()
            return self.gamma[own], np.sqrt(np.maximum(self.variances[own], 0.0))
        pairs = [(self.gamma[group].sum(), self.covariances(group, group).sum()) for group in groups]
        sums, variances = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return sums, np.sqrt(np.maximum(variances, 0.0))

    def total_errors(self, groups: Iterable[Ints]) -> Floats:
        """Return the errors `(g,)` of the sum of the coefficients of each of g groups, with the bias of a prior.

        They are those to the sums that endless rows would give; standard errors are those between seeds.
        """
        groups = list(groups)
        _, errors = self.sums(groups)
        bias = np.zeros(len(self.gamma)) if self.bias is None else self.bias
        return np.hypot(errors, np.array([bias[group].sum() for group in groups], dtype=np.float64))

    def embedded(self, active: Ints, p: int) -> "Estimate":
        """Return the estimate of p coefficients: these at the indices `active` `(a,)`, and exact zeros elsewhere.

        Raises
        ------
        ShapeError
            If there are not `a` coefficients.
        """
        self.check(len(active))
        if len(active) == p:
            return self
        gamma, spread = np.zeros(p), no_scatter(p)
        gamma[active] = self.gamma
        spread[active if spread.ndim == 1 else np.ix_(active, active)] = (
            self.variances if spread.ndim == 1 else self.covariance
        )
        bias = None if self.bias is None else np.zeros(p)
        if bias is not None:
            bias[active] = self.bias
        further = {name: one.embedded(active, p) for name, one in self.further.items()}
        return replace(self, gamma=gamma, covariance=spread, bias=bias, further=further)

    def check(self, p: int) -> None:
        """Check that these are p coefficients with their covariance, and so are those of further effects.

        Raises
        ------
        ShapeError
            If they are not.
        """
        shape, spread = np.shape(self.gamma), np.shape(self.covariance)
        if shape != (p,) or spread not in {(p,), (p, p)}:
            raise ShapeError(
                f"an estimate has coefficients of shape {shape} with a covariance of shape {spread}, expected ({p},) "
                f"with ({p}, {p}), or with ({p},) for variances alone: one for each coordinate"
            )
        for one in self.further.values():
            one.check(p)

    def every(self, change: Callable[["Estimate"], "Estimate"]) -> "Estimate":
        """Return the estimate after a change of it and of the estimates of further effects."""
        return replace(change(self), further={name: change(one) for name, one in self.further.items()})
