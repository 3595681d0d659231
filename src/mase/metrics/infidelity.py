"""Infidelity: how well the scores predict the effect of perturbations on the probability."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import NonFiniteError, OptionError
from mase.explainer import Explainer
from mase.links import probabilities
from mase.methods import Method, describe, resolve
from mase.metrics.curves import check_scores
from mase.metrics.protocol import Column, Instance
from mase.models.batching import ask
from mase.models.protocol import Binding, Model, Probe
from mase.regression.designed import Regression
from mase.regression.problem import Sample
from mase.rng import generator, untouched
from mase.scalars import check_integer

__all__ = ["Infidelity", "infidelities"]


@dataclass(frozen=True, slots=True)
class Infidelity:
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
    needs_rescore: ClassVar[bool] = False

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
        method = self._method(instance.model)
        # A method may hold an array, which is not hashable, so its JSON is the key.
        key = ("infidelity", json.dumps(describe(method)), self.sign, instance.target, instance.seed)
        with untouched():
            moves, changes = instance.cache.get_or_compute(key, lambda: self._perturbed(instance, method))
        return infidelities(instance.scores, moves, changes)

    def _method(self, model: Model) -> Method:
        """Return the method that draws the perturbations, or its replacement for a model without embeddings."""
        chosen = resolve(self.perturbation)
        with_fallback = replace(chosen, without_embeddings=chosen.without_embeddings or "mase-mask")
        method = Explainer(model, method=with_fallback, n_samples=self.n_samples).method
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

    Raises
    ------
    NonFiniteError
        If the scores are so large that their infidelity overflows.
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
    return np.array([plain, scaled, scaled / total if total > 0 else np.nan])


def _probe(instance: Instance, method: Method) -> Probe:
    """Return the probe with one coordinate per word."""
    if method.space.per_token or method.space.noisy:
        raise OptionError(
            f"perturbation {method.name!r} has noise besides the coordinates of the words, expected a space like "
            "'token-scale'"
        )
    tokens = instance.model.encode(instance.document)
    return instance.model.bind(Binding.of(tokens, method.space, instance.masker.words.of_token))
