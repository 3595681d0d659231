"""The metrics that a caller chose, by name or by value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mase.errors import OptionError
from mase.metrics import METRICS
from mase.metrics.protocol import Metric, TopWords

__all__ = ["check_several", "named_metrics"]


def check_several(option: str, given: object, example: str) -> None:
    """Check that an option has several values.

    Raises
    ------
    OptionError
        If it is a single str, or nothing that can be iterated over.
    """
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

    Raises
    ------
    UnknownNameError
        If there is no such metric.
    OptionError
        If a k is not an integer >= 0, `metrics` is a single one or has anything else, or two have one name.
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
    return named


def _name_of(metric: str | Metric) -> str:
    return metric if isinstance(metric, str) else METRICS.name_of(metric)


def _made(metric: str | Metric) -> Metric:
    """Return a metric that is given by name or value."""
    made = METRICS.build(metric) if isinstance(metric, str) else metric
    if isinstance(made, type) or not isinstance(made, Metric):
        raise OptionError(
            f"metric is {made!r:.80}, expected a name such as 'delta-accuracy', or a metric such as "
            "METRICS['delta-accuracy']()"
        )
    return made


def _with_ks(metric: Metric, ks: Sequence[int] | None) -> Metric:
    if ks is None or not isinstance(metric, TopWords):
        return metric
    return replace(metric, ks=tuple(ks))  # type: ignore[type-var]
