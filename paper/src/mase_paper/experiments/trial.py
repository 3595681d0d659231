"""Trials: explain one text with every method, and mask its highest words."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.defaults import Precision
from mase.errors import CapabilityError
from mase.explainer import Explainer
from mase.methods import METHODS, Configuration, Variant, describe
from mase.metrics import Operator
from mase.metrics.base import Cache, Instance
from mase.metrics.curves import ERASER_SHARES, areas, eraser
from mase.metrics.masking import Masker, masker, without_top
from mase.metrics.perturbation import Infidelity
from mase.models.base import Model
from mase.solve.regression import Regression
from mase_paper.experiments.answers import Answers
from mase_paper.experiments.cached_model import CachedModel
from mase_paper.experiments.records import DEPTH, PROBABILITY_KS, Record, bits
from mase_paper.experiments.selection import Chosen
from mase_paper.experiments.upper_bounds import UPPER_BOUNDS, search

__all__ = ["ERASER_SHARES", "Trial", "TrialResult", "n_samples_of"]
_KS = tuple(range(1, DEPTH + 1))
_UNITS = "wordpunct"  # punctuation is a word of its own, as in the paper
_INFIDELITY = Infidelity(n_samples=100)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The records of one text by configuration, and the reasons why a model cannot serve the other configurations."""

    records: Mapping[Configuration, Record] = field(default_factory=dict)
    refusals: Mapping[Configuration, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Explanation:
    """The scores and the order `(w,)` of all words by one method, and their cost."""

    scores: Floats
    order: Ints
    n_queries: int
    n_gradients: int
    seconds: float
    half: bool


def n_samples_of(method: str) -> int:
    """Return the number of samples of a method in the experiments: 1,000 if it otherwise depends on the text.

    Examples
    --------
    >>> n_samples_of("mase"), n_samples_of("mase-gradient")
    (1000, 64)
    """
    return METHODS[method].budget(0, stops_early=True)


class Trial:
    """A model and the methods to compare on it.

    Parameters
    ----------
    model
        An adapter from `mase.models`.
    configurations
        The methods and the upper bounds.
    precision
        Passed on to every method. Masked texts are always evaluated in the model's own precision.
    operators
        The masking operators. Metrics other than Delta Accuracy use the first one only.
    answers
        The folder in which answers of the model are kept for later runs, if any.
    every_metric
        Whether infidelity, deletion and insertion are measured.
    """

    def __init__(
        self,
        model: Model,
        configurations: Sequence[Configuration],
        precision: Precision = "float32",
        operators: Sequence[Operator] = ("auto", "pad", "delete"),
        answers: Answers | None = None,
        *,
        every_metric: bool = True,
    ) -> None:
        self._every_metric = every_metric
        self.model, self.precision, self._operators = model, precision, operators
        self._cached_model = CachedModel(model, answers)
        self.refusals: dict[Configuration, str] = {}
        self._explainers: dict[Configuration, Explainer] = {}
        for configuration in configurations:
            if configuration.method not in UPPER_BOUNDS:
                self._prepare(configuration)

    def _prepare(self, configuration: Configuration) -> None:
        try:
            explainer = self._explainer(self.model, configuration)
        except CapabilityError as error:
            self.refusals[configuration] = str(error)
            return
        repeats = isinstance(explainer.method.strategy, Regression) and not explainer.method.needs_gradients
        self._explainers[configuration] = self._explainer(self._cached_model, configuration) if repeats else explainer

    def _explainer(self, model: Model, configuration: Configuration) -> Explainer:
        return Explainer(
            model,
            method=Variant(
                configuration.method,
                {"n_samples": n_samples_of(configuration.method)} | dict(configuration.settings),
            ),
            units=_UNITS,
            seed=configuration.seed,
            precision=self.precision,
            evidence=0,
        )

    def describe(self, configuration: Configuration) -> dict[str, Any]:
        """Return every setting of a configuration's method as plain JSON types."""
        if configuration.method in UPPER_BOUNDS:
            return {"name": configuration.method, "width": UPPER_BOUNDS[configuration.method], "depth": DEPTH}
        return describe(self._explainers[configuration].method)

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """The operators, where "auto" is replaced by the model's own reference."""
        return tuple(self.model.references[0] if operator == "auto" else operator for operator in self._operators)

    def run(self, chosen: Chosen, configurations: Iterable[Configuration]) -> TrialResult:
        """Return the records of one text for these configurations."""
        maskers = [masker(self.model, chosen.text, operator, _UNITS) for operator in self._operators]
        records, explanations, refusals = {}, {}, {}
        self._cached_model.load(chosen.text)
        for configuration in configurations:
            if configuration.method in UPPER_BOUNDS:
                records[configuration] = _upper_bound(maskers, chosen, UPPER_BOUNDS[configuration.method])
                continue
            try:
                explanations[configuration] = self._explain(configuration, chosen)
            except CapabilityError as error:
                refusals[configuration] = str(error)
        self._cached_model.clear()
        return TrialResult(records | self._masked(maskers, chosen, explanations), refusals)

    def _explain(self, configuration: Configuration, chosen: Chosen) -> _Explanation:
        saved = self._cached_model.saved
        attribution = self._explainers[configuration](chosen.text, target=chosen.target)
        self._cached_model.save(chosen.text)
        fit = attribution.fit
        return _Explanation(
            scores=attribution.scores,
            order=attribution.order,
            n_queries=fit.n_queries,
            n_gradients=fit.n_gradients,
            seconds=fit.seconds + self._cached_model.saved - saved,
            half=fit.precision == "bfloat16",
        )

    def _masked(
        self, maskers: Sequence[Masker], chosen: Chosen, explanations: Mapping[Configuration, _Explanation]
    ) -> dict[Configuration, Record]:
        """Return the records of one text. Each distinct masked text is evaluated once for all methods."""
        if not explanations:
            return {}
        orders = [explanation.order for explanation in explanations.values()]
        curves = [_curves(masker, orders) for masker in maskers]
        erasers = eraser(maskers[0], chosen.target, orders)
        under_curves = areas(maskers[0], chosen.target, orders) if self._every_metric else [()] * len(orders)
        cache = Cache()
        return {
            configuration: Record(
                number=chosen.number,
                row=chosen.row,
                words=len(explanation.order),
                target=chosen.target,
                order=tuple(explanation.order[:DEPTH].tolist()),
                queries=explanation.n_queries,
                gradients=explanation.n_gradients,
                seconds=round(explanation.seconds, 3),
                half=explanation.half,
                flips=tuple(
                    bits(masker.flipped(curve[index], chosen.target))
                    for masker, curve in zip(maskers, curves, strict=True)
                ),
                probability=_thousandths(curves[0][index][[k - 1 for k in PROBABILITY_KS], chosen.target]),
                start=_thousandths(maskers[0].text_probabilities[[chosen.target]])[0],
                eraser=tuple(round(float(value), 3) for value in erasers[index]),
                areas=tuple(round(float(value), 3) for value in under_curves[index]),
                infidelity=_infidelity(
                    Instance(
                        self.model,
                        chosen.text,
                        chosen.target,
                        maskers[0],
                        explanation.scores,
                        order=explanation.order,
                        cache=cache,
                    )
                )
                if self._every_metric
                else (),
            )
            for index, (configuration, explanation) in enumerate(explanations.items())
        }


def _curves(masker: Masker, orders: Sequence[Ints]) -> list[Floats]:
    """Return for each order the class probabilities `(DEPTH, k)` with its top 1, 2, ... words masked."""
    rows: Bools = np.concatenate([without_top(order, _KS) for order in orders])
    return list(masker.probabilities(rows).reshape(len(orders), DEPTH, -1))


def _upper_bound(maskers: Sequence[Masker], chosen: Chosen, width: int) -> Record:
    start = time.perf_counter()
    searches = [search(masker, chosen.target, DEPTH, width) for masker in maskers]
    return Record(
        number=chosen.number,
        row=chosen.row,
        words=len(maskers[0].words),
        target=chosen.target,
        order=searches[0].order,
        queries=sum(searche.n_queries for searche in searches),
        gradients=0,
        seconds=round(time.perf_counter() - start, 3),
        half=False,
        flips=tuple(bits(searche.flips(DEPTH)) for searche in searches),
        probability=(),
        start=_thousandths(maskers[0].text_probabilities[[chosen.target]])[0],
    )


def _thousandths(probability: Floats) -> tuple[int, ...]:
    return tuple(np.rint(probability * 1000).astype(int).tolist())


def _infidelity(instance: Instance) -> tuple[float, ...]:
    """Return the scaled and the unexplained infidelity, rounded, or nothing if they are undefined."""
    _, scaled, unexplained = _INFIDELITY.evaluate(instance)
    return (float(f"{scaled:.3g}"), round(float(unexplained), 3)) if np.isfinite(unexplained) else ()
