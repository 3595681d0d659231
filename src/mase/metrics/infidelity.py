"""Infidelity: how well the scores predict what perturbations do to the probability."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from mase.arrays import Floats, Ints
from mase.designs.bernoulli import Bernoulli
from mase.designs.path import Path
from mase.errors import NonFiniteError, OptionError
from mase.explainer import Explainer
from mase.links import probabilities
from mase.methods import Method, describe, resolve
from mase.metrics.curves import check_scores
from mase.metrics.protocol import Column, Instance
from mase.models.batching import ask
from mase.models.protocol import Binding, Model, Probe
from mase.regression.designed import Regression
from mase.rng import generator, untouched
from mase.text import group_words

__all__ = ["Infidelity", "infidelities"]


@dataclass(frozen=True, slots=True)
class Infidelity:
    """E[(Z.gamma - (f(x) - f(x - Z)))^2] (the paper's Definition of infidelity, R7; Yeh et al., NeurIPS 2019); lower is better.

    Notes
    -----
    f is the probability of the target and coordinates are those of words, the text being at 1: the text is asked at 1 +
    z, and z.gamma is compared with f(1 + z) - f(1). That is the definition with Z = -z for `sign` -1, the definition's
    own sign: x - Z is the perturbed text. With `sign` +1 the perturbed text is x + Z for the same draws Z, as in
    Theorem 1; under a distribution that is symmetric about the text both have the same expectation.

    "plain" wants scores in units of the probability: it says nothing of scores with another link (a margin, a
    log-probability), so tables leave it out. "scaled" first multiplies the scores by the best factor beta = max(0, E[d
    h] / E[h^2]) with h = z.gamma and d = f(1 + z) - f(1), which gives them the unit that fits. "unexplained" divides
    that by E[d^2]: 0 is perfect, 1 no better than scores of 0. The code of Yeh et al. and captum's ``normalize=True``
    let beta be negative, which makes the opposite of every score as good as the score; here it gets 1.

    Perturbations are drawn anew, not those that made the scores; the minimum over all scores is only with respect to
    their distribution (Theorem 2).

    Parameters
    ----------
    perturbation
        The row of the table of methods (or a `Method`) whose space, design, sigma and centre draw the perturbations;
        its estimator and link are not used. A model without embeddings is asked with words taken out instead
        ("mase-mask").
    n_samples
        How many perturbations.
    sign
        -1: f(x) - f(x - Z), the definition's, for distributions that are symmetric about the text; +1: f(x + Z) - f(x).
    """

    perturbation: str | Method = "mase-paper"
    n_samples: int = 1000
    sign: Literal[-1, 1] = -1
    needs_rescore: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.sign not in (-1, 1):
            raise OptionError(f"sign is {self.sign!r}, expected -1 (x - Z, the definition's) or 1 (x + Z)")
        if self.n_samples < 2:
            raise OptionError(f"n_samples is {self.n_samples}, expected an integer >= 2")

    @property
    def columns(self) -> tuple[Column, ...]:
        """Plain, scaled, unexplained."""
        return Column("plain", "lower", headline=False), Column("scaled", "lower"), Column("unexplained", "lower")

    def evaluate(self, instance: Instance) -> Floats:
        """Return the three numbers `(3,)`."""
        check_scores(instance.masker, instance.scores)
        method = self._method(instance.model)
        # As JSON: a method may hold an array, which has no hash.
        key = ("infidelity", json.dumps(describe(method)), self.sign, instance.target, instance.seed)
        with untouched():
            moves, changes = instance.memory.once(key, lambda: self._asked(instance, method))
        return infidelities(instance.scores, moves, changes)

    def _method(self, model: Model) -> Method:
        """Return the method that draws the perturbations, or its stand-in for a model without embeddings."""
        chosen = resolve(self.perturbation)
        standing_in = replace(chosen, without_embeddings=chosen.without_embeddings or "mase-mask")
        method = Explainer(model, method=standing_in, n_samples=self.n_samples).method
        if not _has_one_level(method):
            raise OptionError(
                f"perturbation {method.name!r} has no centre with one standard deviation, expected a row like 'mase-paper'"
            )
        if self.sign == -1 and not method.space.binary and not _about_the_text(method):
            raise OptionError(
                f"perturbation {method.name!r} is not drawn about the text, so that x - Z lies on the far side of it; "
                "use sign=1, which asks where the distribution draws"
            )
        return method

    def _asked(self, instance: Instance, method: Method) -> tuple[Floats, Floats]:
        """Return z `(n, w)` and f(1 + z) - f(1) `(n,)`; no rows if no word can move."""
        probe = _probe(instance, method)
        active: Ints = np.flatnonzero(probe.scale > 0)
        if not len(active):
            return np.empty((0, len(probe.scale))), np.empty(0)
        drawn = _drawn(instance, method, probe.scale[active])
        moves = np.zeros((len(drawn), len(probe.scale)))
        # Zeros and ones can only be taken out: with them x - Z is the one perturbation there is.
        moves[:, active] = drawn if self.sign == 1 or method.space.binary else -drawn
        whole = probabilities(probe.start, probe.output)[0, instance.target]
        return moves, probabilities(ask(probe, 1 + moves), probe.output)[:, instance.target] - whole


def _has_one_level(method: Method) -> bool:
    """Return whether a method draws its rows once, from a distribution with one centre and one standard deviation."""
    if method.gaussian is not None:
        return np.ndim(method.gaussian.sigma) == 0 and not callable(method.gaussian.sigma)
    return isinstance(method.strategy, Regression) and isinstance(method.strategy.design, Bernoulli)


def _about_the_text(method: Method) -> bool:
    """Return whether the distribution of a method's rows is symmetric about the text."""
    return method.gaussian is not None and method.gaussian.center == 1 and not isinstance(method.gaussian, Path)


def _drawn(instance: Instance, method: Method, scale: Floats) -> Floats:
    """Return coordinates minus 1 `(n, p)` of the words that can move, drawn as the method says but not for the same seed."""
    assert isinstance(method.strategy, Regression)
    design = method.strategy.design
    rng = generator(instance.seed, f"infidelity of {instance.text}")
    return np.asarray(design.draw(rng, method.n_samples, design.distribution(scale)).coordinates - 1)


def infidelities(scores: Floats, moves: Floats, changes: Floats) -> Floats:
    """Return infidelity `(3,)`, plain, scaled and unexplained, of scores `(w,)` for moves z `(n, w)` and changes of f `(n,)`.

    NaN where nothing moved (no rows), or no change was left to explain.
    """
    if not len(moves):
        return np.full(3, np.nan)
    with np.errstate(over="ignore"):
        plain = float(((changes - moves @ scores) ** 2).mean())
    if not np.isfinite(plain):
        raise NonFiniteError(
            f"scores up to {np.abs(scores).max():.3g} have an infidelity beyond all numbers, expected smaller ones"
        )
    # The other two do not depend on the scores' unit: large and small ones must not overflow or vanish in their
    # squares.
    guesses = moves @ (scores / max(float(np.abs(scores).max(initial=0.0)), np.finfo(np.float64).tiny))
    size = float(guesses @ guesses)
    beta = max(0.0, float(changes @ guesses) / size) if size > 0 else 0.0
    scaled, total = float(((changes - beta * guesses) ** 2).mean()), float((changes**2).mean())
    return np.array([plain, scaled, scaled / total if total > 0 else np.nan])


def _probe(instance: Instance, method: Method) -> Probe:
    """Return the probe with one coordinate per word."""
    if method.space.per_token or method.space.noisy:
        raise OptionError(
            f"perturbation {method.name!r} has noise besides the words' coordinates, expected a space like 'token-scale'"
        )
    tokens = instance.model.encode(instance.text)
    return instance.model.bind(Binding.of(tokens, method.space, group_words(tokens).of_token))
