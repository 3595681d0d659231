"""Evaluate methods, and given attributions, on one text after the other for one model."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mase.arrays import Floats, equal_fields
from mase.attribution import Attribution
from mase.budget import NSamples
from mase.choices import Precision
from mase.configuration import parse
from mase.document import Document, Input, Scalar
from mase.errors import CapabilityError, MaseError, OptionError, ShapeError
from mase.explainer import Explainer
from mase.methods import Method, describe, resolve
from mase.metrics.alignment import align
from mase.metrics.masking import masker, with_cache
from mase.metrics.operators import Operator, check_operator
from mase.metrics.protocol import Column, Instance, Metric, Rescore
from mase.metrics.selection import check_several, named_metrics
from mase.models import adapt
from mase.models.protocol import Model
from mase.options import names_of, values_of
from mase.regression.precision import QueryOptions
from mase.rng import stream_key
from mase.units import DEFAULT, Units, splitter

__all__ = ["EvaluatedText", "Evaluator", "MethodResult", "OnError", "named_metrics"]

OnError = Callable[[str, MaseError], None]


@dataclass(frozen=True, slots=True)
class MethodResult:
    """The result of one method on one text: metric values `(m,)`, scores `(w,)` and the cost of the explanation.

    `n_queries` is the number of model evaluations of the explanation and `n_gradients` the number of those with a
    backward pass. Evaluations by the metrics are not counted. Both are 0 for given attributions.
    """

    values: Floats
    scores: Floats
    n_queries: int
    n_gradients: int
    seconds: float

    __eq__ = equal_fields


@dataclass(frozen=True, slots=True)
class EvaluatedText:
    """One text: the class that the model predicts, its probability, and the result of each method by name.

    The result is None for a method that could not explain the text.
    """

    text: str
    target: int
    probability: float
    by_method: Mapping[str, MethodResult | None]


class Evaluator:
    """Evaluates how faithful scores are to one model, one text at a time.

    Parameters
    ----------
    model, tokenizer
        As for `mase.Explainer`.
    methods
        Names in `mase.METHODS`, with settings as in "lime+link=margin" or "mase+n_samples=500+seed=1" if there are any
        (`mase.configuration`), or `Method` values. The whole string is the name in the results, with the settings in
        alphabetical order.
    metrics
        Names in `METRICS`, or metrics; or a mapping of these by the names that they get in the results.
    operator
        How metrics mask words; see `mase.metrics.masking.masker`.
    n_samples
        Number of samples of every method whose string names none; None keeps that of the method.
    seed
        Seed of what metrics draw, and of every method whose string names none.
    precision
        Precision of the explanations, as for `mase.Explainer`. Metrics use the model's own precision.
    units, fixed, background
        The units that are explained and masked, the fields that are not, and what replaces numbers and categories, as
        for `mase.Explainer`.

    Raises
    ------
    UnknownNameError
        If there is no such method, setting, metric, operator or unit.
    OptionError
        If a setting has an invalid value, the precision is unknown, two methods or two metrics have one name, or
        methods or metrics are a single one or something else.
    CapabilityError
        If a method needs what the model does not have.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        methods: Sequence[str | Method] = ("mase",),
        metrics: Sequence[str | Metric] | Mapping[str, str | Metric] = ("delta-accuracy",),
        operator: Operator = "auto",
        n_samples: NSamples | None = None,
        seed: int = 0,
        precision: Precision = "float32",
        units: Units = DEFAULT,
        fixed: Collection[str] = (),
        background: Mapping[str, Scalar] | None = None,
    ) -> None:
        check_operator(operator)
        stream_key(seed, "")
        QueryOptions(precision=precision)
        self.model: Model = adapt(model, tokenizer)
        check_several("methods", methods, "mase")
        self.metrics = named_metrics(metrics)
        self.operator, self.n_samples, self.seed, self.precision = operator, n_samples, seed, precision
        self.splitter = splitter(units)
        self.fixed, self.background = names_of(fixed), values_of(background)
        named = [_named(method) for method in methods]
        names = [name for name, _, _ in named]
        if len(set(names)) < len(names):
            raise OptionError(
                f"methods {names} are not unique, expected one name each; rename one with replace(method, name=...)"
            )
        self.explainers = {name: self._explainer(method, options) for name, method, options in named}

    @property
    def columns(self) -> tuple[tuple[str, Column], ...]:
        """The m columns of a result: the name of the metric, and its column."""
        return tuple((name, column) for name, metric in self.metrics.items() for column in metric.columns)

    @property
    def described(self) -> dict[str, Any]:
        """All settings of each method, by the name of the method."""
        return {name: describe(explainer.method) for name, explainer in self.explainers.items()}

    def __call__(
        self, text: Input, attributions: Mapping[str, Any] | None = None, *, on_error: OnError | None = None
    ) -> EvaluatedText:
        """Return the results of one text, all for the class that the model predicts.

        Parameters
        ----------
        text
            The text.
        attributions
            Attributions of this text made by other tools, by the names that they get in the results. See
            `mase.metrics.alignment.align` for their form.
        on_error
            Called with the name and the error of each method that cannot be evaluated on this text. The result of that
            method is then None. By default the error is raised.

        Raises
        ------
        MaseError
            If the text cannot be masked. Without `on_error` also if a method cannot explain the text, or if an
            attribution does not fit it.
        """
        return self.evaluated(self.unscored(text), attributions, on_error=on_error)

    def unscored(self, text: Input) -> Instance:
        """Return one text with the class that the model predicts for it, and without scores; see `evaluated`.

        Raises
        ------
        MaseError
            If the text cannot be masked.
        """
        document = Document.of(text, fixed=self.fixed, background=self.background)
        bound = with_cache(masker(self.model, document, self.operator, self.splitter))
        return Instance(self.model, document, bound.target, bound, np.empty(0), self.seed)

    def evaluated(
        self, unscored: Instance, attributions: Mapping[str, Any] | None = None, *, on_error: OnError | None = None
    ) -> EvaluatedText:
        """Return the results of one text, of which the model has already been asked; otherwise like a call.

        Raises
        ------
        MaseError
            As for a call.
        """
        given = attributions or {}
        self.check_names(given)
        runs: dict[str, Callable[[], MethodResult]] = {
            **{name: partial(self._explained, explainer, unscored) for name, explainer in self.explainers.items()},
            **{name: partial(self._aligned, attribution, unscored) for name, attribution in given.items()},
        }
        results: dict[str, MethodResult | None] = {}
        for name, run in runs.items():
            try:
                results[name] = run()
            except MaseError as error:
                if on_error is None:
                    raise
                on_error(name, error)
                results[name] = None
        return EvaluatedText(unscored.document.text, unscored.target, unscored.text_probability, results)

    def _explained(self, explainer: Explainer, unscored: Instance) -> MethodResult:
        attribution = explainer(unscored.document, target=self.model.labels[unscored.target])
        rescore, fit = self._rescore(explainer, unscored.document, unscored.target), attribution.fit
        instance = replace(unscored, scores=attribution.scores, order=attribution.order, rescore=rescore)
        return MethodResult(
            self._values(instance), np.array(instance.scores), fit.n_queries, fit.n_gradients, fit.seconds
        )

    def _aligned(self, given: Any, unscored: Instance) -> MethodResult:
        scores = align(given, self.model, unscored.document, target=unscored.target, units=self.splitter)
        order = given.order if isinstance(given, Attribution) else None
        return MethodResult(self._values(replace(unscored, scores=scores, order=order)), scores, 0, 0, 0.0)

    def _explainer(self, method: str | Method, options: Mapping[str, Any]) -> Explainer:
        return Explainer(
            self.model,
            method=method,
            units=self.splitter,
            precision=self.precision,
            **{"n_samples": self.n_samples, "seed": self.seed, "evidence": 0, **options},
        )

    def _rescore(self, explainer: Explainer, document: Document, target: int) -> Rescore:
        def rescore(model: Model, seed: int) -> Floats:
            own = explainer.seed + seed - self.seed  # of a method that names its seed
            again = Explainer(
                model, method=explainer.method, units=self.splitter, seed=own, precision=self.precision, evidence=0
            )
            return again(document, target=model.labels[target]).scores

        return rescore

    def _values(self, instance: Instance) -> Floats:
        numbers = [_numbers(name, metric, instance) for name, metric in self.metrics.items()]
        return np.concatenate([np.empty(0), *numbers])

    def check_names(self, given: Collection[str]) -> None:
        """Check that given attributions can be evaluated under these names.

        Raises
        ------
        OptionError
            If a name is that of a method.
        CapabilityError
            If a metric has to compute the scores again.
        """
        shared = set(given) & set(self.explainers)
        if shared:
            raise OptionError(f"{sorted(shared)} are both methods and given attributions, expected different names")
        needing = [name for name, metric in self.metrics.items() if metric.needs_rescore]
        if given and needing:
            raise CapabilityError(
                f"metric {needing[0]!r} has to explain the text again, which it cannot for given attributions; "
                "leave the metric out"
            )


def _named(method: str | Method) -> tuple[str, str | Method, dict[str, Any]]:
    """Return the name of a method in the results, the method, and the options that its string names."""
    if not isinstance(method, str):
        return resolve(method).name, method, {}
    configuration = parse(method)
    return str(configuration), configuration.method, configuration.options


def _numbers(name: str, metric: Metric, instance: Instance) -> Floats:
    """Return the numbers of one text by one metric `(m,)`."""
    values, n_columns = np.asarray(metric.evaluate(instance), dtype=np.float64), len(metric.columns)
    if values.shape != (n_columns,):
        raise ShapeError(
            f"metric {name!r} returned numbers of shape {values.shape}, expected ({n_columns},): one for each column"
        )
    return values
