"""Judging methods, and attributions made elsewhere, on the same texts of one model."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.attribution import Attribution
from mase.choices import Precision
from mase.errors import CapabilityError, MaseError, OptionError
from mase.explainer import Explainer
from mase.methods import Method, describe
from mase.metrics import METRICS
from mase.metrics.alignment import align
from mase.metrics.masking import masker, remembering
from mase.metrics.operators import Operator, check_operator
from mase.metrics.protocol import Column, Instance, Metric, Rescore, TopWords
from mase.models import adapt
from mase.models.protocol import Model
from mase.regression.precision import QueryOptions
from mase.rng import stream_key
from mase.text import check_text

__all__ = ["Evaluator", "Judged", "Judgement", "OnError", "named_metrics"]

OnError = Callable[[str, MaseError], None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the metrics say of one method on one text: m numbers `(m,)`, the scores `(w,)` and what they cost.

    `n_queries` counts model evaluations of the explanation (`n_gradients` those with a backward pass), not of the
    metrics; 0 for attributions made elsewhere.
    """

    values: Floats
    scores: Floats
    n_queries: int
    n_gradients: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One text: the class that the model predicts for it, and the judgement of each method by name.

    None stands for a method that could not explain the text.
    """

    text: str
    target: int
    probability: float
    by_method: Mapping[str, Judgement | None]


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
    precision
        Of the explanations, as for `mase.Explainer`; the model is judged in its own.

    Raises
    ------
    UnknownNameError
        If there is no such method, metric or operator.
    OptionError
        If the precision is unknown or two methods have one name.
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
        precision: Precision = "float32",
    ) -> None:
        check_operator(operator)
        stream_key(seed, "")
        QueryOptions(precision=precision)
        self.model: Model = adapt(model, tokenizer)
        self.metrics = dict(metrics) if isinstance(metrics, Mapping) else named_metrics(metrics)
        self.operator, self.n_samples, self.seed, self.precision = operator, n_samples, seed, precision
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

    def __call__(
        self, text: str, attributions: Mapping[str, Any] | None = None, *, on_error: OnError | None = None
    ) -> Judged:
        """Return the judgements of one text, all for the class that the model predicts.

        Parameters
        ----------
        text
            The text.
        attributions
            Scores of this text made elsewhere, by the name that they are to have; see `mase.metrics.alignment.align`.
        on_error
            Told the name and the error of each method that cannot be judged on this text, whose judgement is then None;
            by default the error is raised.

        Raises
        ------
        MaseError
            If the text cannot be masked, explained by a method (without `on_error`), or an attribution does not fit it.
        """
        text, given = check_text(text), attributions or {}
        self.check_names(given)
        bound = remembering(masker(self.model, text, self.operator))
        blank = Instance(self.model, text, bound.target, bound, np.empty(0), self.seed)  # the scores are still to come
        makers: dict[str, Callable[[], Judgement]] = {
            **{name: partial(self._explained, explainer, blank) for name, explainer in self.explainers.items()},
            **{name: partial(self._aligned, one, blank) for name, one in given.items()},
        }
        found: dict[str, Judgement | None] = {}
        for name, make in makers.items():
            try:
                found[name] = make()
            except MaseError as error:
                if on_error is None:
                    raise
                on_error(name, error)
                found[name] = None
        return Judged(text, bound.target, float(bound.whole[bound.target]), found)

    def _explained(self, explainer: Explainer, blank: Instance) -> Judgement:
        explained = explainer(blank.text, target=blank.target)
        rescore, fit = self._rescore(explainer, blank.text, blank.target), explained.fit
        instance = replace(blank, scores=explained.scores, order=explained.order, rescore=rescore)
        return Judgement(self._values(instance), np.array(instance.scores), fit.n_queries, fit.n_gradients, fit.seconds)

    def _aligned(self, given: Any, blank: Instance) -> Judgement:
        scores = align(given, self.model, blank.text, target=blank.target)
        order = given.order if isinstance(given, Attribution) else None
        return Judgement(self._values(replace(blank, scores=scores, order=order)), scores, 0, 0, 0.0)

    def _explainer(self, method: str | Method) -> Explainer:
        return Explainer(self.model, method=method, n_samples=self.n_samples, seed=self.seed, precision=self.precision)

    def _rescore(self, explainer: Explainer, text: str, target: int) -> Rescore:
        def rescore(model: Model, seed: int) -> Floats:
            return Explainer(model, method=explainer.method, seed=seed, precision=self.precision)(
                text, target=target
            ).scores

        return rescore

    def _values(self, instance: Instance) -> Floats:
        return np.concatenate([np.empty(0), *(metric.evaluate(instance) for metric in self.metrics.values())])

    def check_names(self, given: Collection[str]) -> None:
        """Raise the error for attributions made elsewhere that cannot be judged, by the names that they are to have.

        Raises
        ------
        OptionError
            If a name is that of a method.
        CapabilityError
            If a metric has to make scores anew.
        """
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
    return {name: _with_ks(METRICS.build(name), ks) for name in names}


def _with_ks(metric: Metric, ks: Sequence[int] | None) -> Metric:
    if ks is None or not isinstance(metric, TopWords):
        return metric
    return replace(metric, ks=tuple(ks))  # type: ignore[type-var]
