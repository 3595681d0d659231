"""How an explainer measures a bound text: its method and budget, what it tests, and the settings that it records."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mase.attribution import Attribution
from mase.bound_text import BoundText
from mase.budget import AUTO
from mase.evidence import n_for_evidence, n_for_scores
from mase.measure import measure
from mase.methods import Method, describe, resolve
from mase.models.batching import UNWATCHED
from mase.models.protocol import Probe
from mase.progress import Listener, Reporter
from mase.regression.design import DrawingDesign
from mase.regression.designed import Regression
from mase.regression.known_scores import KnownScores
from mase.regression.precision import QueryOptions
from mase.regression.stopping import Stopping
from mase.rng import generator
from mase.units import Splitter

__all__ = ["Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The settings with which texts are measured.

    Attributes
    ----------
    method, splitter, query, stopping, seed
        As of the `mase.Explainer`.
    n_tested
        Number of units whose evidence is paid from the budget.
    further
        Further settings to record, by name.
    """

    method: Method
    splitter: Splitter
    query: QueryOptions
    stopping: Stopping
    seed: int
    n_tested: int
    further: Mapping[str, Any]

    def settings(self, method: Method) -> dict[str, Any]:
        """Return all settings that decide the scores by a method, as plain JSON types."""
        return describe(method) | {
            "units": self.splitter.name,
            "tolerance": self.stopping.tolerance,
            "stable_top": self.stopping.stable_top,
            "confidence": self.stopping.confidence,
            "precision": self.query.precision,
            **({"evidence": self.n_tested} if self.n_tested else {}),
            **self.further,
        }

    def budget(self, probe: Probe) -> int:
        """Return the number of samples for the coordinates of a document that are not constant."""
        return self.method.budget(_n_coordinates(probe), stops_early=not self.stopping.never)

    def attribution(
        self, bound: BoundText, listener: Listener | None = None, *, tests: bool = True, stream: str = ""
    ) -> Attribution:
        """Return the attribution of a bound text.

        Parameters
        ----------
        bound
            The text.
        listener
            Is told of batches and rounds; None for nobody.
        tests
            Whether to gather the evidence now. Its part of the budget is kept free in any case.
        stream
            Name of a random stream of its own, for a part of a document.
        """
        probe, n_samples = bound.probe, self.budget(bound.probe)
        settings, report = self._described(bound, n_samples), None
        if listener is not None:
            interim = partial(bound.attribution, settings=settings, seed=self.seed)
            n_rows = 2 ** _n_coordinates(probe) if self.method.space.binary else n_samples
            report = Reporter(listener, interim, min(n_samples, n_rows), probe.n_setup)
        most, stopping = n_samples, self.stopping
        asks_on = self.method.n_samples == AUTO and stopping.never
        if asks_on and bound.cheap and _focuses(self.method):
            at_first = n_for_scores(n_samples, self.n_tested) - bound.n_trial
            most, stopping = self.method.rule.most, Stopping(certain_place=max(1, at_first))
        for_scores = max(1, n_for_scores(most, self.n_tested) - bound.n_trial)
        measured = replace(bound.method, n_samples=for_scores)
        known = KnownScores() if tests and self.n_tested else None
        rng = generator(self.seed, bound.tokens.document.key + stream)
        first, *others = bound.targets
        solution = measure(
            probe,
            measured,
            first,
            rng,
            query=self.query,
            stopping=stopping,
            known=known,
            reporter=report,
            others=others,
            link=bound.link,
        )
        if known is None:
            return bound.attribution(solution, settings, self.seed)
        tested = bound.masked(known, n_for_evidence(n_samples, self.n_tested), self.query.rows, report or UNWATCHED)
        return bound.attribution(solution, settings, self.seed, tested, self.n_tested)

    def _described(self, bound: BoundText, n_samples: int) -> dict[str, Any]:
        """Return the settings of one explanation; a sigma that is a function of p is evaluated."""
        probe = bound.probe
        method, design = replace(bound.method, n_samples=n_samples), self.method.gaussian
        if design is not None and callable(design.sigma):
            method = resolve(method, sigma=design.sigma(_n_coordinates(probe)))
        return self.settings(method) | {"batch_size": self.query.rows or probe.batch_size}


def _focuses(method: Method) -> bool:
    """Return whether the rows of a method go by the scores so far, so that more of them make these more certain."""
    return isinstance(method.strategy, Regression) and isinstance(method.strategy.design, DrawingDesign)


def _n_coordinates(probe: Probe) -> int:
    """Return the number of coordinates that change the input."""
    return int(np.count_nonzero(probe.scale))
