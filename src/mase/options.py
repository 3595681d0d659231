"""Options of an explanation that can be given in more than one way."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypedDict

from mase.choices import UNITS, Precision, Units
from mase.errors import OptionError
from mase.registry import unknown
from mase.regression.precision import QueryOptions
from mase.regression.stopping import Stopping

__all__ = ["MoreOptions", "Units", "merged"]


class MoreOptions(TypedDict, total=False):
    """Keywords of `mase.Explainer` for further parts of the method and for the fields of `query` and `stopping`."""

    design: Any
    estimator: Any
    space: Any
    center: float | None
    batch_size: int | Literal["auto"]
    precision: Precision
    tolerance: float | None
    stable_top: int | None
    granularity: Units


_PARTS = ("design", "estimator", "space", "center")
_QUERY = ("batch_size", "precision")
_STOPPING = ("tolerance", "stable_top")


def merged(
    query: QueryOptions, stopping: Stopping, units: Units, more: Mapping[str, Any]
) -> tuple[dict[str, Any], QueryOptions, Stopping, Units]:
    """Return the parts of the method in `more`, and `query`, `stopping` and `units` updated from `more`.

    Raises
    ------
    OptionError
        If a value is invalid.
    UnknownNameError
        If an option is unknown.
    """
    known = list(MoreOptions.__annotations__)
    for name in more:
        if name not in known:
            raise unknown("option", name, known)
    query = replace(query, **_select(more, _QUERY))
    stopping = replace(stopping, **_select(more, _STOPPING))
    units = more.get("granularity", units)
    if units not in UNITS:
        name = "granularity" if "granularity" in more else "units"
        raise OptionError(f"{name} is {units!r}, expected one of {', '.join(UNITS)}")
    return _select(more, _PARTS), query, stopping, units


def _select(options: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}
