"""The result of judging methods on many texts: means with intervals, differences, agreement."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mase.arrays import Bools, Floats
from mase.choices import Precision
from mase.errors import MaseError, OptionError, ShapeError
from mase.methods import Method, describe
from mase.metrics.agreement import spearman_table
from mase.metrics.evaluator import Evaluator, Judged, Judgement
from mase.metrics.intervals import Difference, Summary, paired_means, paired_share, summaries_of_means, summary_of_share
from mase.metrics.operators import Operator
from mase.metrics.plain import finite_number, summary_values, text_values
from mase.metrics.protocol import Column, Metric
from mase.provenance import installed
from mase.registry import unknown

__all__ = ["SCHEMA", "Evaluation", "collect", "evaluate"]

SCHEMA = "mase.evaluation/1"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """n texts judged by m numbers for each method, and where they come from."""

    texts: tuple[Judged, ...]
    columns: tuple[tuple[str, Column], ...]
    methods: tuple[str, ...]
    provenance: Mapping[str, Any] = field(hash=False)

    def __len__(self) -> int:
        return len(self.texts)

    def values(self, method: str) -> Floats:
        """Return the numbers `(n, m)` of one method.

        Raises
        ------
        UnknownNameError
            If it was not judged.
        """
        if method not in self.methods:
            raise unknown("judged method", method, list(self.methods))
        missing = np.full(len(self.columns), np.nan)
        rows = [missing if one is None else one.values for one in self._judgements(method)]
        return np.array(rows).reshape(len(self), len(self.columns))

    def summaries(self, method: str, batches: Sequence[Sequence[int]] | None = None) -> tuple[Summary | None, ...]:
        """Return mean and 95 % interval of each column for one method: Wilson's for shares, of a bootstrap otherwise.

        `batches` are indices of texts, for the standard deviation over batches. None for a column without any value.
        """
        return self._summaries((method,), batches)[method]

    def every_summary(self, batches: Sequence[Sequence[int]] | None = None) -> dict[str, tuple[Summary | None, ...]]:
        """Return the `summaries` of every method by its name; much faster than one by one."""
        return self._summaries(self.methods, batches)

    def differences(self, first: str, second: str) -> tuple[Difference | None, ...]:
        """Return for each column the mean of `first` minus that of `second` with its paired 95 % interval.

        Newcombe's interval and McNemar's test for shares, a bootstrap over texts otherwise. None without any pair of
        values.
        """
        return self._differences([(first, second)])[first, second]

    def every_difference(self) -> dict[tuple[str, str], tuple[Difference | None, ...]]:
        """Return the `differences` of each two methods, the earlier one first; much faster than one by one."""
        return self._differences(list(combinations(self.methods, 2)))

    def agreement(self) -> Floats:
        """Return the mean Spearman correlation of the scores of each two methods, a square table; NaN without any value."""
        size = len(self.methods)
        sums, counts = np.zeros((size, size)), np.zeros((size, size), dtype=np.int64)
        for one in self.texts:
            there = {
                index: found for index, name in enumerate(self.methods) if (found := one.by_method[name]) is not None
            }
            if there:
                table = spearman_table(np.stack([found.scores for found in there.values()]))
                place = np.ix_(list(there), list(there))
                sums[place] += np.nan_to_num(table)
                counts[place] += ~np.isnan(table)
        means = np.asarray(np.divide(sums, counts, out=np.full((size, size), np.nan), where=counts > 0))
        np.fill_diagonal(means, 1.0)
        return means

    def n_judged(self, method: str) -> int:
        """Return how many of the texts one method was judged on: not those that it could not explain."""
        return sum(one is not None for one in self._judgements(method))

    def cost(self, method: str) -> dict[str, float]:
        """Return model evaluations, gradients and seconds per text that the explanations of one method took, on average."""
        there = [one for one in self._judgements(method) if one is not None]
        names = ("n_queries", "n_gradients", "seconds")
        return {
            name: float(np.mean([getattr(one, name) for one in there])) if there else float("nan") for name in names
        }

    def to_dict(self, batches: Sequence[Sequence[int]] | None = None) -> dict[str, Any]:
        """Return everything as plain JSON types, with the values of every text; schema ``mase.evaluation/1``."""
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
                {"first": first, "second": second, "columns": list(map(summary_values, found))}
                for (first, second), found in self.every_difference().items()
            ],
            "agreement": {
                method: dict(zip(self.methods, map(finite_number, row), strict=True))
                for method, row in zip(self.methods, self.agreement().tolist(), strict=True)
            },
            "texts": [text_values(one, len(self.columns)) for one in self.texts],
        }

    @property
    def _shares(self) -> Bools:
        return np.array([column.share for _, column in self.columns], dtype=np.bool_)

    def _judgements(self, method: str) -> list[Judgement | None]:
        return [one.by_method[method] for one in self.texts]

    def _summaries(
        self, methods: Sequence[str], batches: Sequence[Sequence[int]] | None
    ) -> dict[str, tuple[Summary | None, ...]]:
        tables = {method: self.values(method) for method in methods}
        means = iter(summaries_of_means(self._means(tables.values()), batches))
        return {
            method: tuple(
                _share(column, batches) if share else next(means)
                for column, share in zip(table.T, self._shares, strict=True)
            )
            for method, table in tables.items()
        }

    def _differences(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[Difference | None, ...]]:
        tables = {method: self.values(method) for method in {name for pair in pairs for name in pair}}
        means = iter(paired_means(self._means(tables[first] - tables[second] for first, second in pairs)))
        return {
            (first, second): tuple(
                _paired_share(one, two) if share else next(means)
                for one, two, share in zip(tables[first].T, tables[second].T, self._shares, strict=True)
            )
            for first, second in pairs
        }

    def _means(self, tables: Iterable[Floats]) -> Floats:
        """Return the columns that are no shares of all tables `(n, m)`, side by side."""
        return np.concatenate([np.empty((len(self), 0)), *(table[:, ~self._shares] for table in tables)], axis=1)


def evaluate(
    model: Any,
    texts: Iterable[str],
    methods: Sequence[str | Method] = ("mase", "random"),
    *,
    tokenizer: Any = None,
    metrics: Sequence[str] | Mapping[str, Metric] = ("delta-accuracy",),
    attributions: Mapping[str, Sequence[Any]] | None = None,
    operator: Operator = "auto",
    n_samples: int | None = None,
    seed: int = 0,
    precision: Precision = "float32",
) -> Evaluation:
    """Return how faithful methods, and attributions made elsewhere, are to a model on some texts.

    Parameters
    ----------
    model, tokenizer, methods, metrics, operator, n_samples, seed, precision
        As for `mase.metrics.evaluator.Evaluator`.
    texts
        The texts. Delta Accuracy is about texts that the model classifies correctly: pass those.
    attributions
        Scores made elsewhere by name, one entry per text; see `mase.metrics.alignment.align` for what an entry may be.

    Raises
    ------
    ShapeError
        If there are not as many attributions as texts.
    OptionError
        If there is no text.
    MaseError
        If a text cannot be judged; the error's note has its number.

    Examples
    --------
    >>> from mase.models import Callable
    >>> model = Callable(lambda texts: [[0.2, 0.8] if "good" in text else [0.9, 0.1] for text in texts])
    >>> words = [("a", 0.0), ("good", 0.7), ("film", 0.0)]
    >>> found = evaluate(model, ["a good film"], ["mase-mask"], attributions={"mine": [words]})
    >>> [round(one.mean, 2) for one in found.summaries("mine")]
    [1.0, 1.0, 1.0, 1.0]
    """
    every = list(texts)
    given = dict(attributions or {})
    short = next((name for name, entries in given.items() if len(entries) != len(every)), None)
    if short is not None:
        raise ShapeError(
            f"{short!r} has {len(given[short])} attributions for {len(every)} texts, expected one per text"
        )
    evaluator = Evaluator(
        model,
        tokenizer,
        methods=methods,
        metrics=metrics,
        operator=operator,
        n_samples=n_samples,
        seed=seed,
        precision=precision,
    )
    judged = []
    for number, text in enumerate(every):
        try:
            judged.append(evaluator(text, {name: entries[number] for name, entries in given.items()}))
        except MaseError as error:
            error.add_note(f"at text number {number}, counted from 0")
            raise
    return collect(evaluator, judged)


def collect(evaluator: Evaluator, judged: Sequence[Judged], conditions: Mapping[str, Any] | None = None) -> Evaluation:
    """Return the evaluation of texts that were judged one by one; `conditions` join its provenance.

    Raises
    ------
    OptionError
        If there is no text.
    """
    if not judged:
        raise OptionError("no text was judged, expected at least one")
    model = evaluator.model
    provenance = {
        **(conditions or {}),
        "model": {"name": model.name, "sha256": model.sha256},
        "operator": model.references[0] if evaluator.operator == "auto" else evaluator.operator,
        "seed": evaluator.seed,
        "precision": evaluator.precision,
        "settings": evaluator.described,
        "metrics": {name: _described(metric) for name, metric in evaluator.metrics.items()},
        "versions": dict(installed()),
    }
    return Evaluation(tuple(judged), evaluator.columns, tuple(judged[0].by_method), provenance)


def _share(values: Floats, batches: Sequence[Sequence[int]] | None) -> Summary | None:
    """Return the share of ones among the values `(n,)`; NaN is left out, of the batches too."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    place = np.cumsum(known) - 1
    kept = None if batches is None else [place[[index for index in batch if known[index]]] for batch in batches]
    return summary_of_share(
        values[known] == 1, None if kept is None else [batch.tolist() for batch in kept if len(batch)]
    )


def _paired_share(one: Floats, two: Floats) -> Difference | None:
    """Return the difference of the shares of ones among the values `(n,)` that both have."""
    known = ~np.isnan(one - two)
    return paired_share(one[known] == 1, two[known] == 1) if known.any() else None


def _described(metric: Metric) -> dict[str, Any]:
    settings: dict[str, Any] = (
        {one.name: getattr(metric, one.name) for one in fields(metric)} if is_dataclass(metric) else {}
    )
    plain = {name: describe(value) if isinstance(value, Method) else value for name, value in settings.items()}
    return {"name": type(metric).__name__} | plain
