"""Judging methods, and attributions made elsewhere, on the same texts of one model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.errors import CapabilityError, OptionError
from mase.explainer import Explainer
from mase.methods import Method, describe
from mase.metrics import METRICS
from mase.metrics.alignment import align
from mase.metrics.masking import Operator, masker, operators, remembering
from mase.metrics.protocol import Case, Column, Metric, Rescore
from mase.models import adapt
from mase.models.protocol import Model
from mase.rng import stream_key

__all__ = ["Evaluator", "Judged", "Judgement", "named_metrics"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the metrics say of one method on one text: m numbers `(m,)`, the scores `(w,)` and what they cost.

    `n_queries` counts model evaluations of the explanation (`n_gradients` those with a backward pass), not of the metrics;
    0 for attributions made elsewhere.
    """

    values: Floats
    scores: Floats
    n_queries: int
    n_gradients: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One text: the class that the model predicts for it, and the judgement of each method by name."""

    text: str
    target: int
    probability: float
    by_method: Mapping[str, Judgement]


class Evaluator:
    """Judges how faithful scores are to one model, text by text.

    Parameters
    ----------
    model, tokenizer
        As for `mase.Explainer`.
    methods
        Rows of `mase.METHODS` by name, or `Method` values.
    metrics
        Entries of `METRICS` by name, or metrics by the name that they are to have in results.
    operator
        How metrics take words out; see `mase.metrics.masking.masker`.
    n_samples
        Replaces that of every method; None keeps theirs.
    seed
        Of the methods and of what metrics draw.

    Raises
    ------
    UnknownNameError
        If there is no such method or metric.
    OptionError
        If the operator is unknown or two methods have one name.
    CapabilityError
        If a method needs what the model does not have.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        methods: Sequence[str | Method] = ("mase",),
        metrics: Sequence[str] | Mapping[str, Metric] = ("delta-accuracy",),
        operator: Operator = "auto",
        n_samples: int | None = None,
        seed: int = 0,
    ) -> None:
        if operator not in operators():
            raise OptionError(f"operator is {operator!r}, expected one of {', '.join(operators())}")
        stream_key(seed, "")
        self.model: Model = adapt(model, tokenizer)
        self.metrics = dict(metrics) if isinstance(metrics, Mapping) else named_metrics(metrics)
        self.operator, self.n_samples, self.seed = operator, n_samples, seed
        names = [method if isinstance(method, str) else method.name for method in methods]
        if len(set(names)) < len(names):
            raise OptionError(
                f"methods {names} are not unique, expected one name each; rename one with replace(method, name=...)"
            )
        self.explainers = {name: self._explainer(method) for name, method in zip(names, methods, strict=True)}

    @property
    def columns(self) -> tuple[tuple[str, Column], ...]:
        """The m numbers of one judgement: name of the metric, and its column."""
        return tuple((name, column) for name, metric in self.metrics.items() for column in metric.columns)

    @property
    def described(self) -> dict[str, Any]:
        """Every setting of every method."""
        return {name: describe(explainer.method) for name, explainer in self.explainers.items()}

    def __call__(self, text: str, attributions: Mapping[str, Any] | None = None) -> Judged:
        """Return the judgements of one text, all for the class that the model predicts.

        `attributions` are scores of this text made elsewhere, by the name that they are to have; see
        `mase.metrics.alignment.align`.

        Raises
        ------
        MaseError
            If the text cannot be explained or masked, or an attribution does not fit it.
        """
        given = attributions or {}
        self._check_given(given)
        bound = remembering(masker(self.model, text, self.operator))
        target, found = bound.target, {}
        for name, explainer in self.explainers.items():
            explained = explainer(text, target=target)
            case = Case(self.model, text, target, bound, explained.scores, self.seed, self._rescore(explainer, text, target))
            fit = explained.fit
            found[name] = Judgement(self._values(case), np.array(case.scores), fit.n_queries, fit.n_gradients, fit.seconds)
        for name, one in given.items():
            scores = align(one, self.model, text, target=target)
            case = Case(self.model, text, target, bound, scores, self.seed)
            found[name] = Judgement(self._values(case), scores, 0, 0, 0.0)
        return Judged(text, target, float(bound.whole[target]), found)

    def _explainer(self, method: str | Method) -> Explainer:
        return Explainer(self.model, method=method, n_samples=self.n_samples, seed=self.seed)

    def _rescore(self, explainer: Explainer, text: str, target: int) -> Rescore:
        def rescore(model: Model, seed: int) -> Floats:
            return Explainer(model, method=explainer.method, seed=seed)(text, target=target).scores

        return rescore

    def _values(self, case: Case) -> Floats:
        return np.concatenate([np.empty(0), *(metric.judge(case) for metric in self.metrics.values())])

    def _check_given(self, given: Mapping[str, Any]) -> None:
        twice = set(given) & set(self.explainers)
        if twice:
            raise OptionError(f"{sorted(twice)} are both methods and given attributions, expected different names")
        needing = [name for name, metric in self.metrics.items() if metric.needs_rescore]
        if given and needing:
            raise CapabilityError(
                f"metric {needing[0]!r} makes scores anew, which it cannot for attributions made elsewhere; leave it out"
            )


def named_metrics(names: Sequence[str], ks: Sequence[int] | None = None) -> dict[str, Metric]:
    """Return metrics by name, with their default settings; `ks` are the numbers of words of those that take some.

    Raises
    ------
    UnknownNameError
        If there is no such metric.
    OptionError
        If a k is not an integer >= 0.
    """
    found = {}
    for name in names:
        kind = METRICS[name]
        takes_ks = ks is not None and any(field.name == "ks" for field in fields(kind))
        found[name] = kind(ks=tuple(ks or ())) if takes_ks else kind()
    return found
