"""`mase.evaluate`: methods, or given attributions, judged on many texts."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats, equal_fields
from mase.attribution.attribution import Attribution
from mase.defaults import NSamples, Precision
from mase.document import Document, Input, Scalar, check_texts
from mase.errors import CapabilityError, MaseError, NonFiniteError, OptionError, ShapeError
from mase.explainer import Explainer
from mase.methods import Method, Variant, describe, parse, resolve, settings_of
from mase.metrics import Operator, check_operator
from mase.metrics.base import Column, Instance, Metric, Rescore, check_several, named_metrics
from mase.metrics.given import align, per_text
from mase.metrics.masking import masker, with_cache
from mase.metrics.perturbation import spearman_table
from mase.models.base import Model
from mase.models.open import adapt
from mase.options import names_of, values_of
from mase.progress import each
from mase.provenance import installed
from mase.registry import unknown
from mase.rng import stream_key
from mase.solve.oracle import QueryOptions
from mase.statistics import (
    Difference,
    Summary,
    check_batches,
    differences,
    known_paired_share,
    known_share,
    paired_means,
    summaries_of_means,
)
from mase.units import DEFAULT, Units, splitter

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
        (`mase.methods`), or `Method` values. The whole string is the name in the results, with the settings in
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
            `mase.metrics.given.align` for their form.
        on_error
            Called with the name and the error of each method that cannot be evaluated on this text. The result of that
            method is then None. By default the error is raised.
        """
        return self.evaluated(self.unscored(text), attributions, on_error=on_error)

    def unscored(self, text: Input) -> Instance:
        """Return one text with the class that the model predicts for it, and without scores; see `evaluated`."""
        document = Document.of(text, fixed=self.fixed, background=self.background)
        bound = with_cache(masker(self.model, document, self.operator, self.splitter))
        return Instance(self.model, document, bound.target, bound, np.empty(0), self.seed)

    def evaluated(
        self, unscored: Instance, attributions: Mapping[str, Any] | None = None, *, on_error: OnError | None = None
    ) -> EvaluatedText:
        """Return the results of one text, of which the model has already been asked; otherwise like a call."""
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
        parts = dict(options)
        seed = parts.pop("seed", self.seed)
        return Explainer(
            self.model,
            method=Variant(method, parts),
            units=self.splitter,
            n_samples=None if "n_samples" in parts else self.n_samples,
            seed=seed,
            evidence=0,
            precision=self.precision,
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
        """Check that given attributions can be evaluated under these names."""
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
    returned, columns = metric.evaluate(instance), metric.columns
    try:
        values = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"metric {name!r} returned {returned!r:.80}, expected {len(columns)} numbers") from error
    if values.shape != (len(columns),):
        raise ShapeError(
            f"metric {name!r} returned numbers of shape {values.shape}, expected ({len(columns)},): one for each column"
        )
    if np.isinf(values).any():
        raise NonFiniteError(f"metric {name!r} returned {values.tolist()!r:.80}, expected finite numbers or NaN")
    for column, value in zip(columns, values.tolist(), strict=True):
        if column.share and value not in (0, 1) and not isnan(value):
            raise OptionError(
                f"metric {name!r} returned {value!r} for its column {column.name!r}, whose mean is a share of texts "
                "(share=True), expected 0, 1 or NaN; leave share=True out for a mean of numbers"
            )
    return values


def metric_values(metric: Metric) -> dict[str, Any]:
    """Return the class and the settings of a metric."""
    settings, _ = settings_of(metric)
    plain = {name: describe(value) if isinstance(value, Method) else value for name, value in settings.items()}
    return {"name": type(metric).__name__} | plain


def text_values(evaluated: EvaluatedText, n_columns: int) -> dict[str, Any]:
    """Return the values of one text, which is identified by its SHA-256."""
    return {
        "sha256": hashlib.sha256(evaluated.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "target": evaluated.target,
        "probability": evaluated.probability,
        "values": {
            name: [None] * n_columns if result is None else list(map(finite_number, result.values.tolist()))
            for name, result in evaluated.by_method.items()
        },
    }


def summary_values(mean: Summary | Difference | None) -> dict[str, Any] | None:
    """Return a mean with its interval as plain JSON types."""
    if mean is None:
        return None
    return {name: finite_number(value) if isinstance(value, float) else value for name, value in asdict(mean).items()}


def finite_number(value: float) -> float | None:
    """Return a number for JSON: None for NaN, which JSON lacks."""
    return None if isnan(value) else value


SCHEMA = "mase.evaluation/1"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The m metric values of each method on n texts, with their provenance."""

    texts: tuple[EvaluatedText, ...]
    columns: tuple[tuple[str, Column], ...]
    methods: tuple[str, ...]
    provenance: Mapping[str, Any] = field(hash=False)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Evaluation of {', '.join(self.methods)} by {', '.join(dict(self.columns))} on {len(self)} texts>"

    def values(self, method: str) -> Floats:
        """Return the values `(n, m)` of one method; NaN for a text that it could not explain."""
        rows = [np.full(len(self.columns), np.nan) if item is None else item.values for item in self._results(method)]
        return np.array(rows).reshape(len(self), len(self.columns))

    def summaries(self, method: str, batches: Sequence[Sequence[int]] | None = None) -> tuple[Summary | None, ...]:
        """Return mean and 95 % interval of each column for one method; None for a column without any value.

        The interval is Wilson's for shares, and that of a bootstrap over texts otherwise.

        Parameters
        ----------
        method
            Name of the method.
        batches
            Indices of the texts of each batch, for the standard deviation over batches.
        """
        return self._summaries((method,), batches)[method]

    def every_summary(self, batches: Sequence[Sequence[int]] | None = None) -> dict[str, tuple[Summary | None, ...]]:
        """Return the `summaries` of every method by name; much faster than one method at a time."""
        return self._summaries(self.methods, batches)

    def differences(self, first: str, second: str) -> tuple[Difference | None, ...]:
        """Return for each column the mean of `first` minus that of `second`, with its paired 95 % interval.

        Shares get Newcombe's interval and McNemar's test, other means a bootstrap over texts; None without a pair.
        """
        return self._differences([(first, second)])[first, second]

    def every_difference(self) -> dict[tuple[str, str], tuple[Difference | None, ...]]:
        """Return the `differences` of every pair of methods, in their order; much faster than one pair at a time."""
        return self._differences(list(combinations(self.methods, 2)))

    def agreement(self) -> Floats:
        """Return the mean Spearman correlations `(m, m)` of the scores of m methods; NaN without a value."""
        size = len(self.methods)
        sums, counts = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
        for text in self.texts:
            results = enumerate(text.by_method[name] for name in self.methods)
            scores = {index: result.scores for index, result in results if result is not None}
            if scores:
                correlations = spearman_table(np.stack(list(scores.values())))
                pairs = np.ix_(list(scores), list(scores))
                sums[pairs] += np.nan_to_num(correlations)
                counts[pairs] += ~np.isnan(correlations)
        means = np.asarray(np.divide(sums, counts, out=np.full((size, size), np.nan), where=counts > 0))
        np.fill_diagonal(means, 1.0)
        return means

    def n_evaluated(self, method: str) -> int:
        """Return on how many texts a method was evaluated: all but those that it could not explain."""
        return sum(result is not None for result in self._results(method))

    def cost(self, method: str) -> dict[str, float]:
        """Return the mean number of model evaluations, gradients and seconds per text of a method's explanations."""
        costs = [(item.n_queries, item.n_gradients, item.seconds) for item in self._results(method) if item is not None]
        means = np.mean(costs, axis=0).tolist() if costs else [float("nan")] * 3
        return dict(zip(("n_queries", "n_gradients", "seconds"), means, strict=True))

    def to_dict(self, batches: Sequence[Sequence[int]] | None = None) -> dict[str, Any]:
        """Return the evaluation as plain JSON types, with the values of every text; schema ``mase.evaluation/1``."""
        return {
            "schema": SCHEMA,
            **self.provenance,
            "n_texts": len(self),
            "columns": [{"metric": name} | asdict(column) for name, column in self.columns],
            "methods": {
                method: {
                    "summaries": list(map(summary_values, summaries)),
                    "cost": {name: finite_number(value) for name, value in self.cost(method).items()},
                }
                for method, summaries in self.every_summary(batches).items()
            },
            "differences": [
                {"first": first, "second": second, "columns": list(map(summary_values, differences))}
                for (first, second), differences in self.every_difference().items()
            ],
            "agreement": {
                method: dict(zip(self.methods, map(finite_number, row), strict=True))
                for method, row in zip(self.methods, self.agreement().tolist(), strict=True)
            },
            "texts": [text_values(text, len(self.columns)) for text in self.texts],
        }

    @property
    def _shares(self) -> Bools:
        return np.array([column.share for _, column in self.columns], dtype=np.bool_)

    def _results(self, method: str) -> list[MethodResult | None]:
        if method not in self.methods:
            raise unknown("evaluated method", method, list(self.methods))
        return [text.by_method[method] for text in self.texts]

    def _summaries(
        self, methods: Sequence[str], batches: Sequence[Sequence[int]] | None
    ) -> dict[str, tuple[Summary | None, ...]]:
        check_batches(batches, len(self))
        tables = {method: self.values(method) for method in methods}
        means = iter(summaries_of_means(self._means(tables.values()), batches))
        return {
            method: tuple(
                known_share(column, batches) if share else next(means)
                for column, share in zip(table.T, self._shares, strict=True)
            )
            for method, table in tables.items()
        }

    def _differences(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[Difference | None, ...]]:
        tables = {method: self.values(method) for method in {name for pair in pairs for name in pair}}
        means = iter(paired_means(self._means(differences(tables[first], tables[second]) for first, second in pairs)))
        return {
            (first, second): tuple(
                known_paired_share(values, other_values) if share else next(means)
                for values, other_values, share in zip(tables[first].T, tables[second].T, self._shares, strict=True)
            )
            for first, second in pairs
        }

    def _means(self, tables: Iterable[Floats]) -> Floats:
        """Return the columns of all tables `(n, m)` that are not shares, side by side."""
        return np.concatenate([np.empty((len(self), 0)), *(table[:, ~self._shares] for table in tables)], axis=1)


def evaluate(
    model: Any,
    texts: Iterable[Input],
    methods: Sequence[str | Method] = ("mase", "random"),
    *,
    tokenizer: Any = None,
    metrics: Sequence[str | Metric] | Mapping[str, str | Metric] = ("delta-accuracy",),
    attributions: Mapping[str, Iterable[Any]] | None = None,
    operator: Operator = "auto",
    n_samples: NSamples | None = None,
    seed: int = 0,
    precision: Precision = "float32",
    units: Units = DEFAULT,
    fixed: Collection[str] = (),
    background: Mapping[str, Scalar] | None = None,
) -> Evaluation:
    """Evaluate how faithful methods, and given attributions, are to a model on some texts.

    Parameters
    ----------
    model, tokenizer, methods, metrics, operator, n_samples, seed, precision, units, fixed, background
        As for `mase.metrics.evaluation.Evaluator`.
    texts
        The texts. Delta Accuracy is defined for texts that the model classifies correctly, so pass only those.
    attributions
        Attributions made by other tools, by name, with one entry per text, as `mase.metrics.given.align` takes it.

    Raises
    ------
    ShapeError
        If the number of attributions is not the number of texts.
    InvalidTextError
        If `texts` is a single text.
    OptionError
        If there is no text, or an option is invalid.
    MaseError
        If a text cannot be evaluated. The error's note has the number of the text.

    Examples
    --------
    >>> from mase.models import Callable
    >>> model = Callable(lambda texts: [[0.2, 0.8] if "good" in text else [0.9, 0.1] for text in texts])
    >>> words = [("a", 0.0), ("good", 0.7), ("film", 0.0)]
    >>> evaluation = evaluate(model, ["a good film"], ["mase-mask"], attributions={"mine": [words]})
    >>> [round(summary.mean, 2) for summary in evaluation.summaries("mine")]
    [1.0, 1.0, 1.0, 1.0]
    """
    all_texts = list(check_texts(texts, tuples=True))
    given = per_text({} if attributions is None else attributions, len(all_texts))
    evaluator = Evaluator(
        model,
        tokenizer,
        methods=methods,
        metrics=metrics,
        operator=operator,
        n_samples=n_samples,
        seed=seed,
        precision=precision,
        units=units,
        fixed=fixed,
        background=background,
    )
    ahead = getattr(evaluator.model, "waits", False)
    evaluated = each(zip(all_texts, given, strict=True), lambda item: evaluator(*item), ahead=ahead)
    return collect(evaluator, list(evaluated))


def collect(
    evaluator: Evaluator, evaluated: Sequence[EvaluatedText], conditions: Mapping[str, Any] | None = None
) -> Evaluation:
    """Return the evaluation of texts that were evaluated one by one; `conditions` are added to its provenance."""
    if not evaluated:
        raise OptionError("no text was evaluated, expected at least one")
    model, documents = evaluator.model, {"fixed": list(evaluator.fixed), "background": evaluator.background}
    provenance = {
        **(conditions or {}),
        "model": {"name": model.name, "sha256": model.sha256},
        "operator": model.references[0] if evaluator.operator == "auto" else evaluator.operator,
        "seed": evaluator.seed,
        "precision": evaluator.precision,
        "units": evaluator.splitter.name,
        **{name: value for name, value in documents.items() if value},
        "settings": evaluator.described,
        "metrics": {name: metric_values(metric) for name, metric in evaluator.metrics.items()},
        "versions": dict(installed()),
    }
    return Evaluation(tuple(evaluated), evaluator.columns, tuple(evaluated[0].by_method), provenance)
