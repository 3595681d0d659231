"""The result of judging methods on many texts: means with intervals, differences, agreement."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from math import isnan
from typing import Any

import numpy as np

from mase.arrays import Floats
from mase.assemble import installed
from mase.errors import MaseError, OptionError, ShapeError
from mase.methods import Method, describe
from mase.metrics.agreement import spearman
from mase.metrics.evaluator import Evaluator, Judged
from mase.metrics.intervals import Difference, Summary, paired_mean, paired_share, summary_of_mean, summary_of_share
from mase.metrics.masking import Operator
from mase.metrics.protocol import Column, Metric
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
        return np.array([one.by_method[method].values for one in self.texts]).reshape(len(self), len(self.columns))

    def summaries(self, method: str, batches: Sequence[Sequence[int]] | None = None) -> tuple[Summary | None, ...]:
        """Return mean and 95 % interval of each column for one method: Wilson's for shares, of a bootstrap otherwise.

        `batches` are indices of texts, for the standard deviation over batches. None for a column without any value.
        """
        found: list[Summary | None] = []
        for (_, column), values in zip(self.columns, self.values(method).T, strict=True):
            if np.isnan(values).all():
                found.append(None)
            else:
                found.append(summary_of_share(values == 1, batches) if column.share else summary_of_mean(values, batches))
        return tuple(found)

    def differences(self, first: str, second: str) -> tuple[Difference | None, ...]:
        """Return for each column the mean of `first` minus that of `second` with its paired 95 % interval.

        Newcombe's interval and McNemar's test for shares, a bootstrap over texts otherwise. None without any pair of values.
        """
        found: list[Difference | None] = []
        for (_, column), one, two in zip(self.columns, self.values(first).T, self.values(second).T, strict=True):
            if np.isnan(one - two).all():
                found.append(None)
            else:
                found.append(paired_share(one == 1, two == 1) if column.share else paired_mean(one, two))
        return tuple(found)

    def agreement(self) -> Floats:
        """Return the mean Spearman correlation of the scores of each two methods, a square table; NaN without any value."""
        found = np.ones((len(self.methods), len(self.methods)))
        for row, first in enumerate(self.methods):
            for column, second in enumerate(self.methods[:row]):
                pairs = [spearman(one.by_method[first].scores, one.by_method[second].scores) for one in self.texts]
                known = [value for value in pairs if not isnan(value)]
                found[row, column] = found[column, row] = np.mean(known) if known else np.nan
        return found

    def cost(self, method: str) -> dict[str, float]:
        """Return model evaluations, gradients and seconds per text that the explanations of one method took, on average."""
        judgements = [one.by_method[method] for one in self.texts]
        names = ("n_queries", "n_gradients", "seconds")
        return {name: float(np.mean([getattr(one, name) for one in judgements])) for name in names}

    def to_dict(self, batches: Sequence[Sequence[int]] | None = None) -> dict[str, Any]:
        """Return everything as plain JSON types, with the values of every text; schema ``mase.evaluation/1``."""
        return {
            "schema": SCHEMA,
            **self.provenance,
            "n_texts": len(self),
            "columns": [{"metric": name} | asdict(column) for name, column in self.columns],
            "methods": {
                method: {
                    "summaries": [None if one is None else asdict(one) for one in self.summaries(method, batches)],
                    "cost": self.cost(method),
                }
                for method in self.methods
            },
            "differences": [
                {"first": first, "second": second}
                | {"columns": [None if one is None else asdict(one) for one in self.differences(first, second)]}
                for index, first in enumerate(self.methods)
                for second in self.methods[index + 1 :]
            ],
            "agreement": {
                method: dict(zip(self.methods, map(_number, row), strict=True))
                for method, row in zip(self.methods, self.agreement().tolist(), strict=True)
            },
            "texts": [_plain(one) for one in self.texts],
        }


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
) -> Evaluation:
    """Return how faithful methods, and attributions made elsewhere, are to a model on some texts.

    Parameters
    ----------
    model, tokenizer, methods, metrics, operator, n_samples, seed
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
        raise ShapeError(f"{short!r} has {len(given[short])} attributions for {len(every)} texts, expected one per text")
    evaluator = Evaluator(model, tokenizer, methods=methods, metrics=metrics, operator=operator, n_samples=n_samples, seed=seed)
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
        "settings": evaluator.described,
        "metrics": {name: _described(metric) for name, metric in evaluator.metrics.items()},
        "versions": dict(installed()),
    }
    return Evaluation(tuple(judged), evaluator.columns, tuple(judged[0].by_method), provenance)


def _plain(judged: Judged) -> dict[str, Any]:
    return {
        "sha256": hashlib.sha256(judged.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "target": judged.target,
        "probability": judged.probability,
        "values": {name: list(map(_number, one.values.tolist())) for name, one in judged.by_method.items()},
    }


def _described(metric: Metric) -> dict[str, Any]:
    settings: dict[str, Any] = {one.name: getattr(metric, one.name) for one in fields(metric)} if is_dataclass(metric) else {}
    plain = {name: describe(value) if isinstance(value, Method) else value for name, value in settings.items()}
    return {"name": type(metric).__name__} | plain


def _number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return None if isnan(value) else value
