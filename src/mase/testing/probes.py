"""Probes with known saliency, built from a function of the coordinates instead of a model."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mase.arrays import Floats, Ints
from mase.links import Contrast, Output
from mase.models.protocol import Opened

__all__ = ["FunctionProbe", "linear", "quadratic", "smooth"]


@dataclass(frozen=True)
class FunctionProbe:
    """A probe of p coordinates whose first class has the logit `function(c)` `(n,)` and whose second has the logit 0.

    With the link "logit" the explained response is the function itself. `slope(c)` `(n, p)` are its derivatives.
    """

    function: Callable[[Floats], Floats]
    size: int
    slope: Callable[[Floats], Floats] | None = None
    batches: list[int] = field(default_factory=list, compare=False)
    n_setup: int = 1
    batch_size: int = 64
    output: Output = Output("logits")  # noqa: RUF009 (frozen)

    @property
    def scale(self) -> Floats:
        """Ones `(p,)`."""
        return np.ones(self.size)

    @property
    def start(self) -> Floats:
        """Scores `(1, 2)` at c = 1, for which the function is called once."""
        return self._start

    @cached_property
    def _start(self) -> Floats:
        return self.scores(np.ones((1, self.size)), np.zeros(1, dtype=np.int64))

    def opened(self) -> Opened:
        """Return a context that yields `scores`; it needs no preparation."""
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, 2)` at coordinates `(b, p)`."""
        self.batches.append(len(rows))
        values = self.function(coordinates)
        return np.stack([values, np.zeros_like(values)], axis=1)

    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, 2)` and derivatives `(b, p)` of the logit of the first class."""
        assert self.slope is not None
        assert (link, target) == ("logit", 0)
        return self.scores(coordinates, rows), self.slope(coordinates)

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return the absolute derivatives `(b, p)`, which are the norms here because a coordinate moves one number."""
        return np.abs(self.gradients(coordinates, rows, link, target)[1])


def linear(gamma: Floats, constant: float = 0.3) -> FunctionProbe:
    """Return the probe of constant + c.gamma."""
    return FunctionProbe(lambda c: constant + c @ gamma, len(gamma), lambda c: np.broadcast_to(gamma, c.shape))


def quadratic(gamma: Floats, hessian: Floats) -> FunctionProbe:
    """Return the probe of z.gamma + z'Hz / 2 with z = c - 1, whose saliency is gamma at any sigma."""
    return FunctionProbe(
        lambda c: (c - 1) @ gamma + np.einsum("ni,ij,nj->n", c - 1, hessian, c - 1) / 2,
        len(gamma),
        lambda c: gamma + (c - 1) @ hessian,
    )


def smooth(size: int, seed: int = 0) -> FunctionProbe:
    """Return the probe of a nonlinear function with interactions: sums of tanh of random projections."""
    rng = np.random.default_rng(seed)
    inner, outer = rng.standard_normal((size, 6)) / np.sqrt(size), rng.standard_normal(6)
    bias = rng.standard_normal(6)

    def function(c: Floats) -> Floats:
        return np.asarray(np.tanh(3 * c @ inner + bias) @ outer)

    def slope(c: Floats) -> Floats:
        return np.asarray(((1 - np.tanh(3 * c @ inner + bias) ** 2) * outer * 3) @ inner.T)

    return FunctionProbe(function, size, slope)
