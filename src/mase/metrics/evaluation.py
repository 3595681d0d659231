"""Evaluate methods on many texts: means with intervals, differences between methods, agreement."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats
from mase.budget import NSamples
from mase.choices import Precision
from mase.document import Input, Scalar
from mase.errors import MaseError, OptionError
from mase.methods import Method
from mase.metrics.agreement import spearman_table
from mase.metrics.attributions import per_text
from mase.metrics.evaluator import EvaluatedText, Evaluator, MethodResult
from mase.metrics.intervals import Difference, Summary, paired_means, summaries_of_means
from mase.metrics.operators import Operator
from mase.metrics.plain import finite_number, metric_values, summary_values, text_values
from mase.metrics.protocol import Column, Metric
from mase.metrics.shares import check_batches, known_paired_share, known_share
from mase.provenance import installed
from mase.registry import unknown
from mase.several import check_texts
from mase.units import DEFAULT, Units

__all__ = ["SCHEMA", "Evaluation", "collect", "evaluate"]

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
        """Return the values `(n, m)` of one method; NaN for a text that it could not explain.

        Raises
        ------
        UnknownNameError
            If the method was not evaluated.
        """
        rows = [np.full(len(self.columns), np.nan) if one is None else one.values for one in self._results(method)]
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

        Raises
        ------
        UnknownNameError
            If the method was not evaluated.
        OptionError
            If the batches are not lists of indices of texts.
        """
        return self._summaries((method,), batches)[method]

    def every_summary(self, batches: Sequence[Sequence[int]] | None = None) -> dict[str, tuple[Summary | None, ...]]:
        """Return the `summaries` of every method by name; much faster than one method at a time."""
        return self._summaries(self.methods, batches)

    def differences(self, first: str, second: str) -> tuple[Difference | None, ...]:
        """Return for each column the mean of `first` minus that of `second`, with its paired 95 % interval.

        Shares get Newcombe's interval and McNemar's test, other means a bootstrap over texts; None without a pair.

        Raises
        ------
        UnknownNameError
            If a method was not evaluated.
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
        """Return on how many texts a method was evaluated: all but those that it could not explain.

        Raises
        ------
        UnknownNameError
            If the method was not evaluated.
        """
        return sum(result is not None for result in self._results(method))

    def cost(self, method: str) -> dict[str, float]:
        """Return the mean number of model evaluations, gradients and seconds per text of a method's explanations.

        Raises
        ------
        UnknownNameError
            If the method was not evaluated.
        """
        costs = [(one.n_queries, one.n_gradients, one.seconds) for one in self._results(method) if one is not None]
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
        means = iter(paired_means(self._means(tables[first] - tables[second] for first, second in pairs)))
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
        As for `mase.metrics.evaluator.Evaluator`.
    texts
        The texts. Delta Accuracy is defined for texts that the model classifies correctly, so pass only those.
    attributions
        Attributions made by other tools, by name, with one entry per text, as `mase.metrics.alignment.align` takes it.

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
    evaluated = []
    for number, (text, attribution) in enumerate(zip(all_texts, given, strict=True)):
        try:
            evaluated.append(evaluator(text, attribution))
        except MaseError as error:
            error.add_note(f"at text number {number}, counted from 0")
            raise
    return collect(evaluator, evaluated)


def collect(
    evaluator: Evaluator, evaluated: Sequence[EvaluatedText], conditions: Mapping[str, Any] | None = None
) -> Evaluation:
    """Return the evaluation of texts that were evaluated one by one; `conditions` are added to its provenance.

    Raises
    ------
    OptionError
        If there is no text.
    """
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
