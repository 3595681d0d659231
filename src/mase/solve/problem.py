"""What the parts of a regression exchange (rows, problem, estimate), and what designs and estimators offer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from mase.arrays import Bools, Floats, Ints, equal_fields
from mase.errors import OptionError, ShapeError
from mase.solve.distributions import Components, Covariance, Mixture, TargetMixture, centred, no_scatter


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of the coordinates: mean `center` (a number for all p) and covariance Sigma.

    The paper's NLGP is `center = 1`: the text itself. 0 is the reference.
    """

    center: float
    covariance: Covariance


@dataclass(frozen=True, slots=True)
class Sample:
    """n points at which to evaluate the model.

    Attributes
    ----------
    coordinates
        `(n, p)`: the points.
    deviations
        `(n, p)`: the regressors z, which are the coordinates minus the centre of the row.
    weights
        `(n,)`: weight of each row in a regression.
    paired
        Whether rows 2i and 2i+1 are mirror images (z, -z) about one centre. A pair counts as one independent unit.
    center
        The common centre of all rows; None if rows have different centres (along a path).
    covariance
        Sigma of the distribution of z.
    divisible
        Whether the first rows alone are a sample of the same kind.
    exhaustive
        Whether the rows are all possible rows and none was drawn. Coefficients then have no sampling error.
    n_exact
        Number of leading independent rows with infinite weight. A constrained estimator fits them exactly; other
        estimators ignore them.
    n_certain
        Number of independent rows after these that every draw has. Their residuals are no sampling error.
    starts
        Index of the first row of each round.
    components
        The components of rows of zeros and ones; None if they are not known, or rows do not count alike.
    target_mixture
        Returns the mixture of components that each of w scores `(w, p)` stands for; None for the components of the
        rows.
    other_effects
        The same for other effects of the coordinates, by name; empty without a target mixture.
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
    n_certain: int = 0
    starts: tuple[int, ...] = (0,)
    components: Components | None = None
    target_mixture: TargetMixture | None = None
    other_effects: Mapping[str, TargetMixture] = field(default_factory=dict)

    __eq__ = equal_fields

    def head(self, n: int) -> "Sample":
        """Return the sample of the first n rows; n must be even if rows are paired."""
        assert not (self.paired and n % 2)
        return replace(
            self,
            coordinates=self.coordinates[:n],
            deviations=self.deviations[:n],
            weights=self.weights[:n],
            starts=tuple(start for start in self.starts if start < n),
            components=None if self.components is None else self.components.rows(slice(n)),
        )

    def joined(self, more: "Sample") -> "Sample":
        """Return the sample of these rows followed by a round `more`, which must have the same centre."""
        assert self.center == more.center
        assert self.paired == more.paired
        return replace(
            self,
            coordinates=np.concatenate([self.coordinates, more.coordinates]),
            deviations=np.concatenate([self.deviations, more.deviations]),
            weights=np.concatenate([self.weights, more.weights]),
            starts=(*self.starts, len(self.coordinates)),
            components=None
            if self.components is None or more.components is None
            else self.components.joined(more.components),
        )

    def scaled(self, factor: float) -> "Sample":
        """Return the sample with weights times `factor`."""
        return replace(self, weights=factor * self.weights)

    def mixed(self, other: "Sample") -> "Sample":
        """Return the sample whose weights are the sums of these and those of another sample of the same rows."""
        weights, components = self.weights + other.weights, None
        if self.components is not None and other.components is not None:
            components = self.components.mixed(self.weights, other.components, other.weights)
        return replace(self, weights=weights, components=components)

    def problem(self, responses: Floats, base: float | None, gradients: Floats | None = None) -> "Problem":
        """Return the regression problem for `responses` `(n,)` (and `gradients` `(n, p)`) at these points.

        `base` is the response at the centre. Mirrored rows become half differences, which need neither a base nor an
        intercept: every even-order term of the model cancels.
        """
        if not self.paired:
            return self._problem(self.deviations, responses, self.weights, base, gradients)
        odd = (responses[0::2] - responses[1::2]) / 2
        weights = (self.weights[0::2] + self.weights[1::2]) / 2
        slopes = None if gradients is None else (gradients[0::2] + gradients[1::2]) / 2
        return self._problem(self.deviations[0::2], odd, weights, 0.0, slopes)

    def _problem(
        self, z: Floats, y: Floats, weights: Floats, base: float | None, gradients: Floats | None
    ) -> "Problem":
        """Return the problem of independent rows, with the exact rows and the components separated."""
        m = self.n_exact
        exact = (z[:m], y[:m]) if m else None
        slopes = None if gradients is None else gradients[m:]
        components = None if self.paired or self.components is None else self.components.rows(slice(m, None))
        problem = Problem(
            z=z[m:],
            y=y[m:],
            weights=weights[m:],
            base=base,
            intercept=not self.paired,
            covariance=self.covariance,
            gradients=slopes,
            exact=exact,
            exhaustive=self.exhaustive,
            components=components,
            target_mixture=self.target_mixture,
            other_effects=self.other_effects,
            n_certain=self.n_certain,
        )
        return problem if components is None else problem.split()


@dataclass(frozen=True, slots=True)
class Problem:
    """Estimate gamma `(p,)` from y ~ intercept + z.gamma, rows independent.

    Attributes
    ----------
    z, y, weights
        Regressors `(n, p)`, responses `(n,)` and weights `(n,)`.
    base
        Response at z = 0, which Theorem 1 subtracts; None if it was not evaluated.
    intercept
        Whether a regression needs an intercept (mirrored rows do not).
    covariance
        Sigma of the distribution of z.
    gradients
        `(n, p)` derivatives of the response with respect to the coordinates, for white-box estimators only.
    exact
        Regressors `(m, p)` and responses `(m,)` of further rows that the coefficients must fit exactly; None if there
        are none.
    exhaustive
        Whether the rows are all possible rows of the design.
    components
        The components of the rows; None if they are not known, and for half differences of mirrored rows.
    target_mixture
        Returns the mixture of components that each of w scores `(w, p)` stands for; None for the components of the
        rows.
    other_effects
        The same for other effects of the coordinates, by name.
    n_certain
        Number of leading rows that every draw has.
    """

    z: Floats
    y: Floats
    weights: Floats
    base: float | None
    intercept: bool
    covariance: Covariance
    gradients: Floats | None = None
    exact: tuple[Floats, Floats] | None = None
    exhaustive: bool = False
    components: Components | None = None
    target_mixture: TargetMixture | None = None
    other_effects: Mapping[str, TargetMixture] = field(default_factory=dict)
    n_certain: int = 0

    __eq__ = equal_fields

    @property
    def n(self) -> int:
        """Number of independent rows."""
        return len(self.z)

    @property
    def p(self) -> int:
        """Number of coordinates."""
        return int(self.z.shape[1])

    @property
    def groups(self) -> Ints | None:
        """The intercept of each row `(n,)`; None if there is at most one."""
        return None if self.components is None else self.components.groups

    @property
    def n_intercepts(self) -> int:
        """Number of intercepts."""
        return int(self.intercept) if self.groups is None else len(np.unique(self.groups))

    @property
    def unlimited(self) -> bool:
        """Whether the rows stand for a sample without end: they are all possible rows and determine gamma."""
        return self.exhaustive and self.n - self.n_intercepts >= self.p

    def rows(self, chosen: slice | Bools | Ints) -> "Problem":
        """Return the problem of some of the rows."""
        z, y, weights = (some[chosen] for some in (self.z, self.y, self.weights))
        slopes = None if self.gradients is None else self.gradients[chosen]
        components = None if self.components is None else self.components.rows(chosen)
        return replace(self, z=z, y=y, weights=weights, gradients=slopes, components=components, n_certain=0)

    def split(self) -> "Problem":
        """Return the problem in which a row of several components is several rows, each of one component."""
        assert self.components is not None
        rows, component = np.nonzero(self.components.shares.T)
        shares = self.components.shares[component, rows]
        if (shares == 1).all():
            return self
        components = replace(
            self.components, shares=np.equal.outer(np.arange(len(self.components.shares)), component).astype(np.float64)
        )
        return replace(self.rows(rows), weights=self.weights[rows] * shares, components=components)

    def squares(self, values: Floats) -> float:
        """Return sum w (v - mean)^2 for values `(n,)`, with one mean for each intercept; 0 without an intercept."""
        return float(self.weights @ (centred(values, self.weights, self.groups) if self.intercept else values) ** 2)

    def centred(self) -> tuple[Floats, Floats]:
        """Return z `(n, p)` and y `(n,)` times sqrt(weight), minus the weighted mean of the rows of each intercept."""
        z, y = self.z, self.y
        if self.intercept:
            z, y = centred(z, self.weights, self.groups), centred(y, self.weights, self.groups)
        if (self.weights == 1).all():
            return z, y
        root = np.sqrt(self.weights)
        return z * root[:, None], y * root


@dataclass(frozen=True, slots=True)
class Estimate:
    """The result of an estimator: gamma `(p,)`, its covariance and its degrees of freedom.

    `covariance` is `(p, p)`. With more than `mase.solve.distributions.MOST_CORRELATED` coordinates it holds only the
    variances `(p,)`, and covariances count as 0. It is NaN if gamma estimates nothing. `fallback` is a sentence that
    says why the estimator fell back to another one; None if it did not. With a `prior` there may be few rows.
    `penalty` names what a penalty or a bound takes from gamma however many rows there are; None if there is none.
    `leverages` `(n,)` are the changes of z.gamma with the row's own centred response; None if they are unknown.
    `changes` `(n, p)` are gamma minus what it would be without the row and all rows equal to it; None if unknown.
    `of_noise` is the covariance that responses with independent errors of variance 1 would give gamma; None if unknown.
    `bias` `(p,)` is the size of what a prior takes from gamma, which is the same with every seed; None for none.
    `other_effects` has the estimates of other effects of the coordinates, by name.
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
    other_effects: Mapping[str, "Estimate"] = field(default_factory=dict)

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

    def summed(self, groups: Sequence[Ints]) -> "Estimate":
        """Return the estimate of the sums of the coefficients of each of g groups."""
        if all(len(group) == 1 for group in groups) and len(groups) == len(self.gamma):
            return self
        member = np.zeros((len(groups), len(self.gamma)))
        for index, group in enumerate(groups):
            member[index, group] = 1.0
        covariance = (member * self.covariance if self.covariance.ndim == 1 else member @ self.covariance) @ member.T
        return Estimate(member @ self.gamma, covariance, self.dof, self.fallback)

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
        other_effects = {name: other_effect.embedded(active, p) for name, other_effect in self.other_effects.items()}
        return replace(self, gamma=gamma, covariance=spread, bias=bias, other_effects=other_effects)

    def check(self, p: int) -> None:
        """Check that these are p coefficients with their covariance, and so are those of other effects.

        Raises
        ------
        ShapeError
            If they are not.
        OptionError
            If a variance is negative.
        """
        shape, spread = np.shape(self.gamma), np.shape(self.covariance)
        if shape != (p,) or spread not in {(p,), (p, p)}:
            raise ShapeError(
                f"an estimate has coefficients of shape {shape} with a covariance of shape {spread}, expected ({p},) "
                f"with ({p}, {p}), or with ({p},) for variances alone: one for each coordinate"
            )
        lowest = float(np.min(self.variances, initial=0.0))
        if lowest < -1e-9 * float(np.max(np.abs(self.variances), initial=0.0)):
            raise OptionError(f"an estimate has a variance of {lowest:.3g}, expected none below 0")
        for other_effect in self.other_effects.values():
            other_effect.check(p)

    def every(self, change: Callable[["Estimate"], "Estimate"]) -> "Estimate":
        """Return the estimate after a change of it and of the estimates of other effects."""
        return replace(
            change(self),
            other_effects={name: change(other_effect) for name, other_effect in self.other_effects.items()},
        )


class Design:
    """The sampling scheme: draws n points in one or several rounds.

    The rows of all rounds form one regression about the centre of the distribution. A subclass has `distribution` and
    `draw`, and overrides of the rest what its rows differ in.
    """

    __slots__ = ()

    @property
    def rounds(self) -> int:
        """Number of rounds; 1 if no row depends on responses."""
        return 1

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of the rows of each round, in order."""
        return (1 / self.rounds,) * self.rounds

    @property
    def n_draws(self) -> int | None:
        """Number of draws of rough coefficients by which a round goes; 0 for these themselves, None for exact ones."""
        return None

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of the rows.

        `scale` holds the standard deviations of the coordinates per unit of sigma. Coordinates with scale 0 have no
        effect and get no column, so p is the number of the others.
        """
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return a sample of at most n rows from the distribution.

        After the first round, `gamma` `(p,)` holds the coefficients estimated from all rows so far. With `n_draws` it
        holds draws of them `(d, p)`.
        """
        raise NotImplementedError

    def ends(self, n: int) -> list[int]:
        """Return the number of rows at the end of each round when n rows are split into rounds of equal size."""
        size = -(-n // self.rounds)
        return [size * done for done in range(1, self.rounds + 1)]

    @property
    def enumerates(self) -> bool:
        """Whether it is of zeros and ones, and knows the sample to which its samples converge as n grows."""
        return type(self).exhaustive is not Design.exhaustive

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all 2^p rows, each weighted by its probability in `draw` times its weight in a sample.

        The rows and the sum of the weights are the same for every `gamma`, so that rounds can be mixed.
        """
        raise NotImplementedError

    @property
    def has_target_mixture(self) -> bool:
        """Whether scores stand for components that follow from them, whichever rows are drawn."""
        return type(self).target_mixture is not Design.target_mixture

    def target_mixture(self, gamma: Floats) -> Sequence[Mixture]:
        """Return the mixture of components that each of w scores `(w, p)` stands for."""
        raise NotImplementedError

    @property
    def other_effects(self) -> Mapping[str, TargetMixture]:
        """The target mixtures of other effects of the coordinates, by name."""
        return {}

    def every(self, distribution: Distribution, components: Components) -> Sample:
        """Return all 2^p rows, each weighted by its probability under components that each have a share of a row."""
        raise NotImplementedError


def cycle(design: Design, done: int, goal: int) -> list[int]:
    """Return the number of rows at the end of each round when all rounds are asked once more, from `done` to `goal`.

    A goal of few more rows may have fewer rounds.
    """
    return sorted({done + min(end, goal - done) for end in design.ends(goal - done)})


class Estimator:
    """Solves a problem for its coefficients. A subclass has `fit`.

    Attributes
    ----------
    needs_base
        Whether it subtracts the response at the centre (Theorem 1), which is then evaluated as well.
    needs_gradients
        Whether it uses gradients instead of responses (white box).
    uses_target_mixture
        Whether its scores stand for the target mixture of the design, whichever rows were drawn.
    """

    __slots__ = ()
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False
    uses_target_mixture: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its covariance."""
        raise NotImplementedError

    def solve(self, problem: Problem) -> Floats:
        """Return the same gamma `(p,)` as `fit`, without its covariance if that is cheaper."""
        return self.fit(problem).gamma

    def rough(self, problem: Problem) -> Estimate:
        """Return a cheaper estimate of the same coefficients, by which a design chooses its next rows."""
        return self.fit(problem)

    def draft(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` as halves of the rows are compared by it: the cheapest that there is."""
        return self.solve(problem)
