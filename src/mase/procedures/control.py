"""A control variate: what a cheap model says of the same rows lowers the error of scores, and leaves no bias."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from mase.arrays import Floats
from mase.solve.oracle import Oracle

# Pairs of rows that the cheap model is asked for, beside those of the design.
_MANY = 256
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Control:
    """A cheap model, and its mean effects over many rows.

    Let d be the differences of the responses of pairs of complementary rows, with signs s, and e those of the cheap
    model, whose mean effects are beta. Then d - b (e - s beta) has the same expected effects as d for every b that does
    not depend on it, because the effects of e - s beta are 0 on average. Its variance is smallest where b is the
    regression of what single parts leave of d on what they leave of e. For each pair, b is that of all other pairs
    (cross-fitting), so that a cheap model which misleads costs nothing but chance.
    """

    oracle: Oracle  # asks the cheap model by the `control` of its probe
    effects: Floats  # beta `(p,)`
    errors: Floats  # its standard errors `(p,)`

    @classmethod
    def of(cls, oracle: Oracle) -> Self | None:
        """Return the control of an oracle whose probe has a cheap model; None without one."""
        if not oracle.probe.has_control:
            return None
        p = oracle.size
        result = cls(oracle, np.zeros(p), np.zeros(p))
        if 2 ** (p - 1) <= 2 * _MANY:  # all pairs: the effects are exact
            numbers = 2 ** (p - 1) + np.arange(2 ** (p - 1))
            halves = np.asarray(numbers[:, None] >> np.arange(p) & 1, dtype=np.float64)
        else:  # always the same rows, so that they are asked once, and independent of those of any design
            rng = np.random.default_rng([p, _MANY])
            halves = rng.integers(0, 2, (max(_MANY, 4 * p), p)).astype(np.float64)
        signs, differences = 2 * halves - 1, result.differences(halves)
        effects = np.asarray(np.linalg.lstsq(signs, differences, rcond=None)[0], dtype=np.float64)
        rest, n = differences - signs @ effects, len(halves)
        error = 0.0 if n == 2 ** (p - 1) else np.sqrt(rest @ rest / (n - p) / n)
        return cls(oracle, effects, np.full(p, error))

    def differences(self, halves: Floats) -> Floats:
        """Return the differences `(m,)` of the cheap model's responses to rows `(m, p)` and to their complements."""
        probe = self.oracle.probe
        n, rows = len(halves), np.ones((2 * len(halves), len(probe.scale)))
        rows[:, self.oracle.active] = np.concatenate([halves, 1 - halves])
        responses = self.oracle.respond(probe.control(rows))
        return np.asarray(responses[:n] - responses[n:])

    def adjusted(self, signs: Floats, differences: Floats, chosen: list[int]) -> tuple[Floats, Floats]:
        """Return differences `(m,)` with less noise, and the variances `(p,)` that the effects of the cheap model add.

        `chosen` are the parts that matter.
        """
        rest = self.differences((signs + 1) / 2) - signs @ self.effects
        regressors = np.column_stack([rest, signs[:, chosen]])
        slopes = np.array([_slope(np.delete(regressors, i, 0), np.delete(differences, i)) for i in range(len(rest))])
        return differences - slopes * rest, np.square(slopes).max(initial=0.0) * np.square(self.errors)


def _slope(regressors: Floats, response: Floats) -> float:
    """Return the slope of the first of k regressors `(m, k)`, shrunk as far as it is uncertain."""
    others = np.linalg.qr(regressors[:, 1:])[0] if regressors.shape[1] > 1 else np.empty((len(response), 0))
    first = regressors[:, 0] - others @ (others.T @ regressors[:, 0])
    left, size = response - others @ (others.T @ response), float(first @ first)
    if size <= _NOTHING * float(response @ response):
        return 0.0
    slope = float(first @ left) / size
    left = left - slope * first
    uncertainty = float(left @ left) / max(1, len(response) - regressors.shape[1]) / size
    return slope**3 / (slope**2 + uncertainty) if slope else 0.0
