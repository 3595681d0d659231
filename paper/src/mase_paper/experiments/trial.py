"""One text on the bench: every method's explanation of it, and what masking its highest words does."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.choices import Precision
from mase.errors import CapabilityError
from mase.explainer import Explainer
from mase.methods import describe
from mase.metrics.infidelity import Infidelity
from mase.metrics.masking import Masker, masker
from mase.metrics.operators import Operator
from mase.metrics.protocol import Cache, Instance
from mase.metrics.ranking import without_top
from mase.metrics.rationales import ERASER_SHARES, eraser
from mase.models.protocol import Model
from mase.regression.designed import Regression
from mase_paper.experiments.cached_model import Remembering
from mase_paper.experiments.ceiling import CEILINGS, search
from mase_paper.experiments.records import CHANCE_KS, DEPTH, Record, bits
from mase_paper.experiments.selection import Chosen
from mase_paper.experiments.specs import Spec

__all__ = ["ERASER_SHARES", "Answer", "Bench"]

_KS = tuple(range(1, DEPTH + 1))
_INFIDELITY = Infidelity(n_samples=100)


@dataclass(frozen=True, slots=True)
class Answer:
    """The records of one text by spec, and why a spec has none (the model lacks what the method needs)."""

    records: Mapping[Spec, Record] = field(default_factory=dict)
    refusals: Mapping[Spec, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a method found: scores and order `(w,)` of all words, and the cost."""

    scores: Floats
    order: Ints
    n_queries: int
    n_gradients: int
    seconds: float
    half: bool


class Bench:
    """A model with the methods that are compared on it.

    Parameters
    ----------
    model
        An adapter from `mase.models`.
    specs
        The methods, or ceilings.
    precision
        Passed on to every method; masking is always asked in the model's own precision.
    operators
        How words are taken out; metrics other than Delta Accuracy have the first one only.
    """

    def __init__(
        self,
        model: Model,
        specs: Sequence[Spec],
        precision: Precision = "float32",
        operators: Sequence[Operator] = ("auto", "pad", "delete"),
    ) -> None:
        self.model, self.precision, self._operators = model, precision, operators
        self._remembering = Remembering(model)
        self.refusals: dict[Spec, str] = {}
        self._explainers: dict[Spec, Explainer] = {}
        for spec in specs:
            if spec.method not in CEILINGS:
                self._prepare(spec)

    def _prepare(self, spec: Spec) -> None:
        try:
            explainer = self._explainer(self.model, spec)
        except CapabilityError as error:
            self.refusals[spec] = str(error)
            return
        repeats = isinstance(explainer.method.strategy, Regression) and not explainer.method.needs_gradients
        self._explainers[spec] = self._explainer(self._remembering, spec) if repeats else explainer

    def _explainer(self, model: Model, spec: Spec) -> Explainer:
        return Explainer(model, method=spec.method, seed=spec.seed, precision=self.precision, **dict(spec.settings))

    def describe(self, spec: Spec) -> dict[str, Any]:
        """Return every setting of a spec's method as plain JSON types."""
        if spec.method in CEILINGS:
            return {"name": spec.method, "width": CEILINGS[spec.method], "depth": DEPTH}
        return describe(self._explainers[spec].method)

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """What each operator is for this model."""
        return tuple(self.model.references[0] if operator == "auto" else operator for operator in self._operators)

    def answer(self, chosen: Chosen, specs: Iterable[Spec]) -> Answer:
        """Return the records of one text for some of the specs."""
        maskers = [masker(self.model, chosen.text, operator) for operator in self._operators]
        records, found, refusals = {}, {}, {}
        for spec in specs:
            if spec.method in CEILINGS:
                records[spec] = _ceiling(maskers, chosen, CEILINGS[spec.method])
                continue
            try:
                found[spec] = self._explain(spec, chosen)
            except CapabilityError as error:
                refusals[spec] = str(error)
        self._remembering.forget()
        return Answer(records | self._masked(maskers, chosen, found), refusals)

    def _explain(self, spec: Spec, chosen: Chosen) -> _Found:
        saved = self._remembering.saved
        attribution = self._explainers[spec](chosen.text, target=chosen.target)
        fit = attribution.fit
        return _Found(
            scores=attribution.scores,
            order=attribution.order,
            n_queries=fit.n_queries,
            n_gradients=fit.n_gradients,
            seconds=fit.seconds + self._remembering.saved - saved,
            half=fit.precision == "bfloat16",
        )

    def _masked(self, maskers: Sequence[Masker], chosen: Chosen, found: Mapping[Spec, _Found]) -> dict[Spec, Record]:
        """Return the records of one text; what all methods ask about it is asked together, each distinct row once."""
        if not found:
            return {}
        orders = [one.order for one in found.values()]
        curves = [_curves(masker, orders) for masker in maskers]
        erasers = eraser(maskers[0], chosen.target, orders)
        cache = Cache()
        return {
            spec: Record(
                number=chosen.number,
                row=chosen.row,
                words=len(one.order),
                target=chosen.target,
                order=tuple(one.order[:DEPTH].tolist()),
                queries=one.n_queries,
                gradients=one.n_gradients,
                seconds=round(one.seconds, 3),
                half=one.half,
                flips=tuple(
                    bits(masker.flipped(curve[index], chosen.target))
                    for masker, curve in zip(maskers, curves, strict=True)
                ),
                probability=_thousandths(curves[0][index][[k - 1 for k in CHANCE_KS], chosen.target]),
                start=_thousandths(maskers[0].text_probabilities[[chosen.target]])[0],
                eraser=tuple(round(float(value), 3) for value in erasers[index]),
                infidelity=_infidelity(
                    Instance(
                        self.model, chosen.text, chosen.target, maskers[0], one.scores, order=one.order, cache=cache
                    )
                ),
            )
            for index, (spec, one) in enumerate(found.items())
        }


def _curves(masker: Masker, orders: Sequence[Ints]) -> list[Floats]:
    """Return for each order the class probabilities `(DEPTH, k)` without its top 1, 2, ... words."""
    rows: Bools = np.concatenate([without_top(order, _KS) for order in orders])
    return list(masker.probabilities(rows).reshape(len(orders), DEPTH, -1))


def _ceiling(maskers: Sequence[Masker], chosen: Chosen, width: int) -> Record:
    began = time.perf_counter()
    found = [search(masker, chosen.target, DEPTH, width) for masker in maskers]
    return Record(
        number=chosen.number,
        row=chosen.row,
        words=len(maskers[0].words),
        target=chosen.target,
        order=found[0].order,
        queries=sum(one.n_queries for one in found),
        gradients=0,
        seconds=round(time.perf_counter() - began, 3),
        half=False,
        flips=tuple(bits(one.flips(DEPTH)) for one in found),
        probability=(),
        start=_thousandths(maskers[0].text_probabilities[[chosen.target]])[0],
    )


def _thousandths(probability: Floats) -> tuple[int, ...]:
    return tuple(np.rint(probability * 1000).astype(int).tolist())


def _infidelity(case: Instance) -> tuple[float, ...]:
    """Return the scaled and the unexplained infidelity to three digits, or nothing where they have no value."""
    _, scaled, unexplained = _INFIDELITY.evaluate(case)
    return (float(f"{scaled:.3g}"), round(float(unexplained), 3)) if np.isfinite(unexplained) else ()
