"""Metrics that ask again: infidelity, max-sensitivity, and the agreement of seeds and methods."""

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from mase.arrays import Floats, Ints, as_floats
from mase.attribution.response import ranking
from mase.defaults import check_integer, is_real
from mase.errors import CapabilityError, NonFiniteError, OptionError, ShapeError
from mase.explainer import Explainer
from mase.links import Contrast, Output
from mase.methods import Method, describe, resolve, with_reference
from mase.metrics.base import Column, Instance, Metric
from mase.metrics.curves import check_scores
from mase.models.base import Binding, Model, Probe, Wrapper, probe_of
from mase.models.batching import ask
from mase.responses import probabilities
from mase.rng import generator, untouched
from mase.solve.problem import Sample
from mase.solve.regression import Regression
from mase.spaces import TokenScale

# Of the mean square of the changes: what is left below this share is rounding of the model's numbers.
_ROUNDING = 1e-18


@dataclass(frozen=True, slots=True)
class Infidelity(Metric):
    """Expected squared error of the scores as a linear model of f: E[(Z.gamma - (f(x) - f(x - Z)))^2]; lower is better.

    This is the paper's definition of infidelity, from Yeh et al., NeurIPS 2019.

    Notes
    -----
    f is the probability of the target. There is one coordinate per word, and the text is at 1. The model is evaluated
    at 1 + z, and z.gamma is compared with f(1 + z) - f(1). With `sign` -1 this is the definition with Z = -z: x - Z is
    the perturbed text. With `sign` +1 the perturbed text is x + Z for the same draws Z, as in Theorem 1. Under a
    distribution that is symmetric about the text both have the same expectation.

    "plain" is meaningful only for scores in units of the probability, not for scores with another link (a margin, a
    log-probability). Tables therefore leave it out. "scaled" first multiplies the scores by the best factor beta =
    max(0, E[d h] / E[h^2]) with h = z.gamma and d = f(1 + z) - f(1), which gives them the right unit. "unexplained"
    divides "scaled" by E[d^2]: 0 is perfect, and 1 is no better than scores of 0. The code of Yeh et al. and captum's
    ``normalize=True`` allow a negative beta. Then scores of the wrong sign are as good as those of the right sign; here
    they get 1.

    The perturbations are independent of those from which the scores were estimated. Scores that minimise infidelity do
    so only with respect to the distribution of the perturbations (Theorem 2).

    Parameters
    ----------
    perturbation
        The method (a name in `mase.METHODS` or a `Method`) whose space, design, sigma and centre draw the
        perturbations. Its estimator and link are not used. All its rows must be drawn from one distribution, with equal
        weights. For a model without embeddings words are masked instead ("mase-mask").
    n_samples
        Number of perturbations.
    sign
        -1: f(x) - f(x - Z), as in the definition, for distributions that are symmetric about the text.
        +1: f(x + Z) - f(x).
    """

    perturbation: str | Method = "mase-paper"
    n_samples: int = 1000
    sign: Literal[-1, 1] = -1

    def __post_init__(self) -> None:
        if self.sign not in (-1, 1):
            raise OptionError(f"sign is {self.sign!r}, expected -1 (x - Z, as in the definition) or 1 (x + Z)")
        check_integer("n_samples", self.n_samples, 2)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns "plain", "scaled" and "unexplained"."""
        return Column("plain", "lower", headline=False), Column("scaled", "lower"), Column("unexplained", "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the three numbers `(3,)`."""
        check_scores(instance.masker, instance.scores)
        method = self._method(instance.model, instance.masker.operator)
        # A method may hold an array, which is not hashable, so its JSON is the key.
        key = ("infidelity", json.dumps(describe(method)), self.sign, instance.target, instance.seed)
        with untouched():
            moves, changes = instance.cache.get_or_compute(key, lambda: self._perturbed(instance, method))
        return infidelities(instance.scores, moves, changes)

    def _method(self, model: Model, operator: str) -> Method:
        """Return the method that draws the perturbations, or its replacement for a model without embeddings.

        Words are masked by the operator where nothing else was asked for, and the model can.
        """
        chosen = resolve(self.perturbation)
        with_fallback = replace(chosen, without_embeddings=chosen.without_embeddings or "mase-mask")
        method = Explainer(model, method=with_fallback, n_samples=self.n_samples).method
        asked = chosen.space.reference if chosen.space.binary else "auto"
        if method.space.binary and asked == "auto" and operator in model.references:
            method = with_reference(method, operator)
        sigma = 0.0 if method.gaussian is None else method.gaussian.sigma
        if not isinstance(method.strategy, Regression) or callable(sigma) or np.ndim(sigma):
            raise OptionError(
                f"perturbation {method.name!r} has no design with a single standard deviation, expected a method like "
                "'mase-paper'"
            )
        return method

    def _perturbed(self, instance: Instance, method: Method) -> tuple[Floats, Floats]:
        """Return z `(n, w)` and f(1 + z) - f(1) `(n,)`; no rows if no word can move."""
        probe = _probe(instance, method)
        active: Ints = np.flatnonzero(probe.scale > 0)
        if not len(active):
            return np.empty((0, len(probe.scale))), np.empty(0)
        sample = _drawn(instance, method, probe.scale[active])
        # Coordinates that are 0 or 1 start at 1 and can only go down, so both signs give the same perturbation.
        mirror = self.sign == -1 and not method.space.binary
        if mirror and sample.center != 1:
            raise OptionError(
                f"perturbation {method.name!r} is not symmetric about the text, so that x - Z is outside of its "
                "distribution, expected a symmetric one; use sign=1, which evaluates x + Z"
            )
        moves = np.zeros((len(sample.coordinates), len(probe.scale)))
        moves[:, active] = (1 - sample.coordinates) if mirror else (sample.coordinates - 1)
        unperturbed = probabilities(probe.start, probe.output)[0, instance.target]
        return moves, probabilities(ask(probe, 1 + moves), probe.output)[:, instance.target] - unperturbed


def _drawn(instance: Instance, method: Method, scale: Floats) -> Sample:
    """Return rows `(n, p)` for the words that can move, from the method's distribution.

    The random stream differs from that of the explanation, so that the draws are independent of the scores.
    """
    assert isinstance(method.strategy, Regression)
    design = method.strategy.design
    rng = generator(instance.seed, f"infidelity of {instance.document.key}")
    sample = design.draw(rng, method.budget(len(scale)), design.distribution(scale))
    if design.rounds > 1 or sample.exhaustive or np.ptp(sample.weights) > 0:
        raise OptionError(
            f"perturbation {method.name!r} has weighted rows, fixed rows or several rounds, expected rows drawn from "
            "one distribution; use a method like 'mase-paper' or 'mase-mask'"
        )
    return sample


def infidelities(scores: Floats, moves: Floats, changes: Floats) -> Floats:
    """Return plain, scaled and unexplained infidelity `(3,)` of scores `(w,)`.

    Parameters
    ----------
    scores
        `(w,)`: one score per word.
    moves
        `(n, w)`: the perturbations z. Without any row all three are NaN.
    changes
        `(n,)`: f(1 + z) - f(1). If all are 0, "unexplained" is NaN.
    """
    if not len(moves):
        return np.full(3, np.nan)
    with np.errstate(over="ignore"):
        plain = float(((changes - moves @ scores) ** 2).mean())
    if not np.isfinite(plain):
        raise NonFiniteError(
            f"scores up to {np.abs(scores).max():.3g} have an infidelity that overflows, expected smaller scores"
        )
    # The other two do not depend on the unit of the scores. Dividing by the largest score keeps the squares of very
    # large or very small scores from overflowing or underflowing.
    predictions = moves @ (scores / max(float(np.abs(scores).max(initial=0.0)), np.finfo(np.float64).tiny))
    size = float(predictions @ predictions)
    beta = max(0.0, float(changes @ predictions) / size) if size > 0 else 0.0
    scaled, total = float(((changes - beta * predictions) ** 2).mean()), float((changes**2).mean())
    plain, scaled = (value if value > _ROUNDING * total else 0.0 for value in (plain, scaled))
    return np.array([plain, scaled, scaled / total if total > 0 else np.nan])


def _probe(instance: Instance, method: Method) -> Probe:
    """Return the probe with one coordinate per word."""
    if method.space.per_token or method.space.noisy:
        raise OptionError(
            f"perturbation {method.name!r} has noise besides the coordinates of the words, expected a space like "
            "'token-scale'"
        )
    tokens = instance.model.encode(instance.document)
    return probe_of(instance.model, Binding.of(tokens, method.space, instance.masker.words.of_token))


class Nearby(Wrapper):
    """A model that reads r_i + factors[i] (e_i - r_i) in place of the embedding e_i of word i.

    r is the reference of the space. To explain this model is to explain the original one at a neighbouring point of
    embedding space: coordinate c of the neighbour is coordinate factors * c of the text. It serves one text, with one
    factor per word `(w,)`.
    """

    def __init__(self, model: Model, factors: Floats) -> None:
        super().__init__(model)
        self.factors = factors

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of the neighbour of one text."""
        if not self.model.has_embeddings:
            raise CapabilityError(
                f"{self.model.name} reads strings only, expected a model with embeddings; leave max-sensitivity out"
            )
        if binding.n_coordinates != len(self.factors):
            raise CapabilityError(
                f"the method has {binding.n_coordinates} coordinates, expected {len(self.factors)}: one per word"
            )
        probe = probe_of(self.model, binding)
        # Row 0 of a space with noise is noisy, but the response of the neighbour itself must be free of noise.
        clean = probe_of(self.model, replace(binding, space=TokenScale(), sigma=0.0)) if binding.space.noisy else probe
        start = clean.scores(self.factors[None, :], np.zeros(1, dtype=np.int64))
        return NearbyProbe(probe, self.factors, start)


@dataclass(frozen=True, slots=True)
class NearbyProbe(Probe):
    """The probe of a neighbour, whose class scores are `start` `(1, k)`. See `mase.models.base.Probe`."""

    probe: Probe
    factors: Floats
    start: Floats

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.probe.output

    @property
    def scale(self) -> Floats:
        """Standard deviations per unit of sigma `(p,)`."""
        return self.probe.scale

    @property
    def n_setup(self) -> int:
        """Number of evaluations for binding."""
        return self.probe.n_setup + 1

    @property
    def batch_size(self) -> int:
        """Number of rows per batch."""
        return self.probe.batch_size

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at the neighbour's coordinates `(b, p)`."""
        return self.probe.scores(coordinates * self.factors, rows)

    def half(self) -> Probe | None:
        """Return the probe of the same neighbour in half precision; None if the model's probe returns None."""
        half = self.probe.half()
        return None if half is None else replace(self, probe=half)

    def exchanged(self, sources: Ints) -> Floats:
        """Raise an error: the words of a neighbour cannot be exchanged."""
        raise _without_neighbours("exchange words")

    def contributions(self, link: str | Contrast, target: int) -> Floats:
        """Raise an error: there are no contributions at a neighbour."""
        raise _without_neighbours("propagate differences through the layers (DeepLIFT)")

    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` with respect to the neighbour's coordinates."""
        scores, slopes = self.probe.gradients(coordinates * self.factors, rows, link, target)
        return scores, slopes * self.factors

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return the norms `(b, p)` of the response's gradient with respect to the embeddings of each word.

        This gradient is with respect to the neighbour's embeddings, not its coordinates, so no factor is applied.
        """
        return self.probe.gradient_norms(coordinates * self.factors, rows, link, target)


def _without_neighbours(what: str) -> CapabilityError:
    return CapabilityError(
        f"methods that {what} cannot explain the neighbours of a text, which max-sensitivity needs; "
        "leave out the metric or the method"
    )


@dataclass(frozen=True, slots=True)
class MaxSensitivity(Metric):
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


@dataclass(frozen=True, slots=True)
class SeedAgreement(Metric):
    """Agreement of the scores with those of other seeds: Spearman correlation and Jaccard index of the top k words.

    Both are means over the other seeds. Higher is better. Costs one more explanation per seed. A text of at most k
    words has no Jaccard index (NaN): all of its words are top words, in any order.

    Parameters
    ----------
    n_seeds
        Number of other seeds: `seed` + 1, `seed` + 2, and so on.
    k
        Number of top words to compare.
    """

    n_seeds: int = 2
    k: int = 10
    needs_rescore: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer("n_seeds", self.n_seeds, 1)
        check_integer("k", self.k, 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Spearman correlation and Jaccard index."""
        return Column("spearman", "higher"), Column(f"jaccard k={self.k}", "higher")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the mean Spearman correlation and Jaccard index `(2,)`; NaN for one that does not exist.

        Raises
        ------
        CapabilityError
            If the text cannot be explained again.
        """
        if instance.rescore is None:
            raise CapabilityError(
                "seed-agreement has to explain the text again, which it cannot for given attributions; leave it out"
            )
        others = [instance.rescore(instance.model, instance.seed + 1 + index) for index in range(self.n_seeds)]
        agreements = [[spearman(instance.scores, other), jaccard(instance.scores, other, self.k)] for other in others]
        correlation, overlap = np.mean(agreements, axis=0)
        return np.array([correlation, overlap if len(instance.scores) > self.k else np.nan])


def spearman(first: Any, second: Any) -> float:
    """Return Spearman's rank correlation of scores `(w,)` and `(w,)`; NaN if either is constant.

    Ties get their average rank. Scores are tied that differ by rounding, as in `ranking`.

    Examples
    --------
    >>> spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
    0.5
    """
    return float(spearman_table(np.stack(_same_words(first, second)))[0, 1])


def spearman_table(scores: Floats) -> Floats:
    """Return Spearman's rank correlations `(r, r)` between the rows of scores `(r, w)`; NaN where a row is constant.

    Examples
    --------
    >>> spearman_table(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    ranks = np.stack([_ranks(row) for row in scores])
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    products = centred @ centred.T
    sizes = np.outer(np.diag(products), np.diag(products))
    return np.asarray(np.divide(products, np.sqrt(sizes), out=np.full_like(products, np.nan), where=sizes > 0))


def top_overlap(first: Any, second: Any, k: int) -> float:
    """Return the share of the top k words by scores `(w,)` that are also top k words by other scores `(w,)`.

    k is capped by w.

    Examples
    --------
    >>> top_overlap([3.0, 2.0, 1.0, 0.0], [3.0, 0.0, 2.0, 1.0], 2)
    0.5
    """
    top_first, top_second = _tops(first, second, k)
    return len(top_first & top_second) / len(top_first)


def jaccard(first: Any, second: Any, k: int) -> float:
    """Return the Jaccard index |A and B| / |A or B| of the top k words A and B by two vectors of scores `(w,)`.

    k is capped by w.
    """
    top_first, top_second = _tops(first, second, k)
    return len(top_first & top_second) / len(top_first | top_second)


def _tops(first: Any, second: Any, k: int) -> tuple[set[int], set[int]]:
    k = check_integer("k", k, 1)
    top_first, top_second = (set(ranking(scores)[:k].tolist()) for scores in _same_words(first, second))
    return top_first, top_second


def _same_words(first: Any, second: Any) -> tuple[Floats, Floats]:
    first_scores, second_scores = as_floats(first, (None,), "first"), as_floats(second, (None,), "second")
    if first_scores.shape != second_scores.shape or not len(first_scores):
        raise ShapeError(
            f"first has {len(first_scores)} scores and second {len(second_scores)}, expected scores of the same words"
        )
    return first_scores, second_scores


def _ranks(scores: Floats) -> Floats:
    """Return descending ranks `(w,)` from 0; ties get their average rank.

    That is the mean of their ranks if ties are by position, and if they are by position from the end.
    """
    forwards, backwards = np.argsort(ranking(scores)), np.argsort(ranking(scores[::-1]))[::-1]
    return np.asarray((forwards + backwards) / 2)
