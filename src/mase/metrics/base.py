"""The interface of metrics, and how metrics are chosen by name."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeVar, get_args

from mase.arrays import Floats, Ints, equal_fields
from mase.attribution.response import ranking
from mase.defaults import check_choice
from mase.document import Document, Input
from mase.errors import OptionError
from mase.metrics import METRICS
from mase.metrics.masking import Masker
from mase.models.base import Model
from mase.registry import completed

T = TypeVar("T")
Better = Literal["higher", "lower"]

# Returns scores `(w,)` of the instance's text by the same method, for the given model and seed.
Rescore = Callable[[Model, int], Floats]


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a metric: its name, which direction is better, and whether its mean is a share of texts.

    The values of a `share` column are 0 or 1. Tables show the `headline` columns; files have all columns.
    """

    name: str
    better: Better
    share: bool = False
    headline: bool = True

    def __post_init__(self) -> None:
        check_choice("better", self.better, get_args(Better))


@dataclass(frozen=True, slots=True)
class Cache:
    """Values that do not depend on the scores: all methods that are evaluated on one text share them."""

    values: dict[Hashable, Any] = field(default_factory=dict)

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value of this key; `compute` is called the first time only."""
        if key not in self.values:
            self.values[key] = compute()
        value: T = self.values[key]
        return value


@dataclass(frozen=True, slots=True)
class Instance:
    """One text with the scores of its words: the input of a metric.

    Attributes
    ----------
    model, text
        The model and the text (or another document) that was explained.
    target
        Index of the explained class.
    masker
        The model bound to the text, with the operator that masks words.
    scores
        `(w,)`: scores of the masker's words. A positive score increases the probability of the target.
    seed
        Seed of what a metric draws.
    rescore
        Computes the scores for another model or seed; None for given attributions.
    order
        `(w,)`: indices of the words, best first; None for the ranking of the scores.
    cache
        Values that do not depend on the scores. Instances of the same text, seed and model share it.
    """

    model: Model
    text: Input
    target: int
    masker: Masker
    scores: Floats
    seed: int = 0
    rescore: Rescore | None = None
    order: Ints | None = None
    cache: Cache = field(default_factory=Cache, repr=False)

    __eq__ = equal_fields

    @property
    def document(self) -> Document:
        """The text as a document."""
        return Document.of(self.text)

    @property
    def ranked(self) -> Ints:
        """Indices `(w,)` of the words, best first: the order in which metrics mask words."""
        return ranking(self.scores) if self.order is None else self.order

    @property
    def text_probability(self) -> float:
        """Probability of the target for the unmasked text."""
        return float(self.masker.text_probabilities[self.target])


class Metric:
    """A metric. Its fields are its settings, and it returns one number per column for a text.

    A subclass has `columns` and `evaluate`.

    Attributes
    ----------
    needs_rescore
        Whether it has to compute the scores again. Such a metric cannot evaluate given attributions.
    """

    __slots__ = ()
    needs_rescore: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The m columns, one per number."""
        raise NotImplementedError

    def evaluate(self, instance: Instance) -> Floats:
        """Return the numbers of one text `(m,)`; NaN for a missing value."""
        raise NotImplementedError


def check_several(option: str, given: object, example: str) -> None:
    """Check that an option has several values."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        example = given if isinstance(given, str) else example
        raise OptionError(f"{option} is {given!r:.80}, expected a list, as in [{example!r}]")


def named_metrics(
    metrics: Iterable[str | Metric] | Mapping[str, str | Metric], ks: Sequence[int] | None = None
) -> dict[str, Metric]:
    """Return metrics by name.

    Parameters
    ----------
    metrics
        Names in `METRICS` for their default settings, or metrics; or a mapping of these by name.
    ks
        Numbers of masked words, for the metrics that have such a setting; None keeps their own.
    """
    check_several("metrics", metrics, "delta-accuracy")
    pairs = metrics.items() if isinstance(metrics, Mapping) else [(_name_of(metric), metric) for metric in metrics]
    named: dict[str, Metric] = {}
    for name, metric in pairs:
        if name in named:
            raise OptionError(
                f"metrics has {name!r} twice, expected one name each; name them in a mapping, as in {{'mine': metric}}"
            )
        named[name] = _with_ks(_made(metric), ks)
    if ks is not None and named and not any(hasattr(metric, "ks") for metric in named.values()):
        raise OptionError(f"got k={list(ks)} and no metric that masks k words, expected one such as 'delta-accuracy'")
    return named


def _name_of(metric: str | Metric) -> str:
    return metric if isinstance(metric, str) else METRICS.name_of(metric)


def _made(metric: str | Metric) -> Metric:
    """Return a metric that is given by name or value."""
    made = METRICS.build(metric) if isinstance(metric, str) else metric
    if isinstance(made, type) or not callable(getattr(made, "evaluate", None)):
        raise OptionError(
            f"metric is {made!r:.80}, expected a name such as 'delta-accuracy', or a metric such as "
            "METRICS['delta-accuracy']()"
        )
    return completed(made, Metric)


def _with_ks(metric: Metric, ks: Sequence[int] | None) -> Metric:
    if ks is None or not hasattr(metric, "ks"):
        return metric
    return replace(metric, ks=tuple(ks))  # type: ignore[type-var]
